package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.jdbc.dialect.H2Dialect;
import io.leasehold.spi.Incarnation;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.UUID;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A store keeps the id of its life, and no two stores have the same. */
@Tag("quick")
class SchemaCheckTest {

    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private final SchemaCheck check = new SchemaCheck(H2Dialect.dialect(), runtime, "database", "store X");

    private static Connection database() throws SQLException {
        return DriverManager.getConnection("jdbc:h2:mem:" + UUID.randomUUID());
    }

    @Test
    void theLifeOfAStoreIsDrawnOnceAndFoundByAllWhoOpenIt() throws SQLException {
        try (Connection one = database();
                Connection another = database()) {
            Incarnation made = check.findOrMake(one);
            assertThat(made.id()).matches("[0-9a-f]{32}");
            assertThat(check.findOrMake(one)).isEqualTo(made);
            assertThat(check.prepare(one)).isEqualTo(made);
            assertThat(check.read(one)).isEqualTo(made);
            assertThat(check.findOrMake(another)).isNotNull().isNotEqualTo(made);
        }
    }

    @Test
    void whereTheTablesAreEmptyALifeIsBegun() throws SQLException {
        try (Connection one = database()) {
            Incarnation made = check.findOrMake(one);
            one.createStatement().execute("DELETE FROM leasehold_store");
            assertThat(check.read(one)).isNull();
            Incarnation next = check.findOrMake(one);
            assertThat(next).isNotNull().isNotEqualTo(made);
            assertThat(check.read(one)).isEqualTo(next);
        }
    }
}
