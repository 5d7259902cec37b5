/**
 * Locks in an SQL lease table: {@link io.leasehold.jdbc.SqliteStore} keeps them in a file that all processes of a
 * machine share, without a server; {@link io.leasehold.jdbc.JdbcStores} over a data source of the caller's.
 */
@NullMarked
package io.leasehold.jdbc;

import org.jspecify.annotations.NullMarked;
