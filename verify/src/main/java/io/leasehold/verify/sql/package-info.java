/** The SQL stores in a virtual world, over a model of the database: docs/decisions/sql-simulator.md. */
@NullMarked
package io.leasehold.verify.sql;

import org.jspecify.annotations.NullMarked;
