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
 * @param clock its clock
 * @param schema the check that has found the tables
 * @param connections closed with the store
 * @param spare supplies an additional connection, for listening
 * @param lives the known states of processes; closed with the store
 * @param retention how long a row is kept after its last token. A deleted row leaves its fence in the store's floor, so
 *     tokens keep increasing; the time only limits how often rows of names in use are created again. The clients of one
 *     store may have different values
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

    /** Supplies a connection, which the caller closes. */
    @FunctionalInterface
    public interface Spare {
        /** Opens one more connection. */
        Connection open() throws SQLException;
    }
}
