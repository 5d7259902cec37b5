/**
 * Locks in an SQL lease table: {@link io.leasehold.jdbc.SqliteStore} keeps them in a file that all processes of a
 * machine share, without a server; {@link io.leasehold.jdbc.JdbcStores} over a data source of the caller's.
 *
 * <p>Beside the locks stands what a database can do better by itself: {@link io.leasehold.jdbc.RowLocks} for rows of one's own
 * inside one's own transaction, {@link io.leasehold.jdbc.VersionCheck} against lost updates without any lock, and {@link
 * io.leasehold.jdbc.SqlFencingGuard}, by which a row refuses a holder whose lease is over:
 *
 * <pre>{@code
 * try (Lease lease = lock.acquire()) {
 *     connection.setAutoCommit(false);
 *     SqlFencingGuard.of("orders", "id", "fencing_token")
 *             .admit(connection, id, lease.fencingToken())
 *             .orElseThrow();
 *     connection.commit();
 * }
 * }</pre>
 *
 * <p>The lock is given back after the commit, never before: the next holder must see what was written.
 */
@NullMarked
package io.leasehold.jdbc;

import org.jspecify.annotations.NullMarked;
