package io.leasehold.jdbc.store;

import io.leasehold.Guarantees;
import io.leasehold.jdbc.dialect.Dialect;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;

/**
 * The settings in which stores differ.
 *
 * @param description the store for messages, without secrets
 * @param dialect its database
 * @param guarantees its promises
 * @param clock the clock it lives by
 * @param schema the check of the tables that were found
 * @param connections closed with the store
 * @param spare gives a connection beside those, to listen at
 * @param lives the known states of processes; closed with the store
 * @param retention how long a row is kept after its last token. What is deleted leaves its fence in the store's floor,
 *     so tokens go on increasing; the time only bounds how often rows of names in use are made anew. Clients of one
 *     store may differ in it
 */
public record StoreSettings(
        String description,
        Dialect dialect,
        Guarantees guarantees,
        StoreClock clock,
        SchemaCheck schema,
        KeptConnection connections,
        Spare spare,
        Lives lives,
        Duration retention) {

    /** A row that was not used for a day is deleted. */
    public static final Duration RETENTION = Duration.ofHours(24);

    /** Gives a connection, which the caller closes. */
    @FunctionalInterface
    public interface Spare {
        /** One more connection. */
        Connection open() throws SQLException;
    }
}
