/** One class of SQLite's driver, replaced for the start of the command line. */
@NullMarked
package org.sqlite.date;

import org.jspecify.annotations.NullMarked;
