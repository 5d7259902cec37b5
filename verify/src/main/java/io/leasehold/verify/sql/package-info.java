/** The SQL stores in a virtual world, over a model of the database: <a href="doc">docs/decisions/sql-simulator.md</a>. */
@NullMarked
package io.leasehold.verify.sql;

import org.jspecify.annotations.NullMarked;
