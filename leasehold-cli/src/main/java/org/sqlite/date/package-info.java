/** One class of SQLite's driver, replaced for the start of the command line. */
@org.jspecify.annotations.NullMarked
package org.sqlite.date;
