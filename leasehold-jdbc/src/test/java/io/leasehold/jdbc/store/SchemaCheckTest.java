package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.H2Dialect;
import io.leasehold.jdbc.dialect.MariaDbDialect;
import io.leasehold.jdbc.dialect.PostgresDialect;
import io.leasehold.jdbc.dialect.SqliteDialect;
import io.leasehold.sample.SampleDialect;
import io.leasehold.spi.Incarnation;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
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

    private static boolean hasIndexOfFences(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT COUNT(*) FROM INFORMATION_SCHEMA.INDEXES"
                        + " WHERE INDEX_NAME = 'LEASEHOLD_LOCK_FENCE'")) {
            return row.next() && row.getInt(1) == 1;
        }
    }

    /** A client that creates the tables is killed after any of its statements, or another client comes in between. */
    @Test
    void tablesThatAreCreatedInPartAreCompleted() throws SQLException {
        for (Dialect dialect : List.of(H2Dialect.dialect(), new SampleDialect().dialect())) {
            List<String> create = dialect.store().create();
            for (int made = 1; made < create.size(); made++) {
                try (Connection one = database()) {
                    for (String statement : create.subList(0, made)) {
                        one.createStatement().execute(statement);
                    }
                    SchemaCheck check = new SchemaCheck(dialect, runtime, "database", "store X");
                    assertThat(check.findOrMake(one))
                            .as("after %s", create.get(made - 1))
                            .isNotNull();
                    check.refuseLookAlikes(one);
                    assertThat(hasIndexOfFences(one))
                            .as("after %s", create.get(made - 1))
                            .isTrue();
                }
            }
        }
    }

    @Test
    void theTableOfTheStoreIsCreatedAfterTheLocks() {
        for (Dialect dialect :
                List.of(PostgresDialect.dialect(), MariaDbDialect.mariaDb(), SqliteDialect.dialect(true))) {
            List<String> create = dialect.store().create();
            String last = create.get(create.size() - 2);
            assertThat(last).as("before the clients, on %s", dialect.database()).contains(" leasehold_store ");
        }
    }
}
