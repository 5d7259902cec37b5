/** The SQLite file: where it is, who may use it, and whether it can be relied on. */
@NullMarked
package io.leasehold.jdbc.sqlite;

import org.jspecify.annotations.NullMarked;
