/**
 * Locks in an SQL lease table: {@link io.leasehold.jdbc.SqliteStore} keeps them in a file that all processes of a
 * machine share, without a server; {@link io.leasehold.jdbc.JdbcStores} uses the caller's data source.
 *
 * <p>The package also has tools for what a database does better on its own: {@link io.leasehold.jdbc.RowLocks} locks
 * your own rows inside your own transaction, {@link io.leasehold.jdbc.VersionCheck} prevents lost updates without a
 * lock, and with {@link io.leasehold.jdbc.SqlFencingGuard} a row refuses a holder whose lease has ended:
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
 * <p>Release the lock after the commit, never before: the next holder must see what was written.
 */
@NullMarked
package io.leasehold.jdbc;

import org.jspecify.annotations.NullMarked;
