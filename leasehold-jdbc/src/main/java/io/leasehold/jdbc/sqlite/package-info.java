/** The SQLite file: its place, its permissions, and the checks of its file system. */
@NullMarked
package io.leasehold.jdbc.sqlite;

import org.jspecify.annotations.NullMarked;
