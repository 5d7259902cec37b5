package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LockName;
import io.leasehold.UnsafeStoreException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.H2Dialect;
import io.leasehold.jdbc.dialect.SqlTrouble;
import io.leasehold.jdbc.dialect.SqliteDialect;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.jdbc.lease.LeaseRow.Held;
import io.leasehold.jdbc.lease.LeaseRow.Waiter;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Runs the statements of each dialect on the real database. */
@Tag("quick")
class LeaseTableTest {

    private static final OwnerToken OWNER = OwnerToken.fromHex("0123456789abcdef0123456789abcdef01234567");
    private static final OwnerToken WAITER = OwnerToken.fromHex("f".repeat(40));

    @TempDir
    private Path directory;

    enum Database {
        SQLITE(SqliteDialect.dialect(false)),
        H2(H2Dialect.dialect());

        @SuppressWarnings("ImmutableEnumChecker")
        private final Dialect dialect;

        Database(Dialect dialect) {
            this.dialect = dialect;
        }
    }

    private Connection connect(Database database) throws SQLException {
        return DriverManager.getConnection(
                database == Database.SQLITE
                        ? "jdbc:sqlite:" + directory.resolve("t.db")
                        : "jdbc:h2:mem:" + UUID.randomUUID());
    }

    private static SchemaCheck schema(Database database) {
        return new SchemaCheck(database.dialect, new SystemLockRuntime(), "kind", "store X");
    }

    private static LeaseTable table(Database database, Connection connection) throws SQLException {
        Incarnation incarnation = schema(database).prepare(connection);
        return new LeaseTable(Loan.begin(connection, database.dialect.tuning()), database.dialect, incarnation);
    }

    private static LockName name(String text) {
        return LockName.exactly(text);
    }

    private static LeaseRow held(String name, long fence) {
        Held held = new Held(OWNER, "host/1 \"ü\"", 123_456_789_012L, 30_000_000_000L, 1_700_000_000_000_000L, null);
        return new LeaseRow(name(name), "boot:x", held, new Waiter(WAITER, 77), 99, fence);
    }

    @ParameterizedTest
    @EnumSource
    void rowsComeBackAsTheyWere(Database database) throws SQLException {
        try (Connection connection = connect(database)) {
            LeaseTable table = table(database, connection);
            LeaseRow full = held("order:1 ☃ " + "y".repeat(1000), (1L << 53) - 1);
            LeaseRow empty = new LeaseRow(name("e"), "boot:x", null, null, -5, 0);
            table.begin(1);
            assertThat(table.find(full.name())).isNull();
            table.insert(full);
            table.insert(empty);
            table.commit();
            assertThat(table.read(full.name())).isEqualTo(full);
            assertThat(table.read(empty.name())).isEqualTo(empty);
            LeaseRow changed = new LeaseRow(full.name(), "boot:z", null, null, 100, 7);
            table.begin(1);
            table.update(changed);
            table.rollback();
            assertThat(table.read(full.name())).isEqualTo(full);
            table.begin(1);
            table.update(changed);
            table.commit();
            assertThat(table.read(full.name())).isEqualTo(changed);
        }
    }

    @ParameterizedTest
    @EnumSource
    void namesAreKeptApartToTheLastBit(Database database) throws SQLException {
        try (Connection connection = connect(database)) {
            LeaseTable table = table(database, connection);
            String[] names = {"a", "A", "a ", " a", "ä", "a\u0308", "%", "_", "a'b", "a\"b", "😀"};
            for (int i = 0; i < names.length; i++) {
                table.insert(held(names[i], i));
            }
            for (int i = 0; i < names.length; i++) {
                assertThat(table.read(name(names[i]))).as(names[i]).isEqualTo(held(names[i], i));
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void heldRowsAreListedByNameUpToTheLimit(Database database) throws SQLException {
        try (Connection connection = connect(database)) {
            LeaseTable table = table(database, connection);
            for (String name : new String[] {"c", "a", "b", "d"}) {
                table.insert(held(name, 1));
            }
            table.insert(new LeaseRow(name("free"), "boot:x", null, null, 0, 1));
            assertThat(table.held(name -> !name.equals("b"), Optional::of, 2))
                    .extracting(row -> row.name().text())
                    .containsExactly("a", "c");
            assertThat(table.held(name -> true, Optional::of, 100)).hasSize(4);
        }
    }

    @ParameterizedTest
    @EnumSource
    void oldRowsAreFoundByTheirFenceAndDeleted(Database database) throws SQLException {
        try (Connection connection = connect(database)) {
            LeaseTable table = table(database, connection);
            table.insert(held("young", 100));
            table.insert(held("old", 50));
            table.insert(held("oldest", 10));
            assertThat(table.between(-1, 100))
                    .extracting(LeaseTable.Idle::stored)
                    .containsExactly("oldest", "old");
            assertThat(table.between(10, 100))
                    .extracting(LeaseTable.Idle::stored)
                    .containsExactly("old");
            table.delete("oldest");
            table.raiseFenceFloor(10);
            assertThat(table.read(name("oldest"))).isNull();
            assertThat(table.fenceFloor()).isEqualTo(10);
        }
    }

    @ParameterizedTest
    @EnumSource
    void theStoreKeepsItsIdentity(Database database) throws SQLException {
        try (Connection connection = connect(database)) {
            Incarnation first = schema(database).prepare(connection);
            assertThat(schema(database).prepare(connection)).isEqualTo(first);
            assertThat(schema(database).read(connection)).isEqualTo(first);
        }
    }

    @ParameterizedTest
    @EnumSource
    void anotherSchemaVersionIsRefused(Database database) throws SQLException {
        try (Connection connection = connect(database);
                Statement statement = connection.createStatement()) {
            schema(database).prepare(connection);
            statement.execute("UPDATE leasehold_store SET schema_version = 7");
            assertThatThrownBy(() -> schema(database).prepare(connection))
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContainingAll(
                            "store X",
                            "version 7",
                            "needs " + database.dialect.store().version());
        }
    }

    @ParameterizedTest
    @EnumSource
    void anotherKindOfClockIsRefused(Database database) throws SQLException {
        try (Connection connection = connect(database);
                Statement statement = connection.createStatement()) {
            schema(database).prepare(connection);
            statement.execute("UPDATE leasehold_store SET clock = 'sundial'");
            assertThatThrownBy(() -> schema(database).prepare(connection))
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContainingAll("store X", "sundial", "kind");
        }
    }

    @ParameterizedTest
    @EnumSource
    void anOwnerTokenThatIsNoneIsAnErrorThatDoesNotShowIt(Database database) throws SQLException {
        try (Connection connection = connect(database);
                Statement statement = connection.createStatement()) {
            LeaseTable table = table(database, connection);
            table.insert(held("x", 1));
            statement.execute("UPDATE leasehold_lock SET owner = 'rubbish'");
            assertThatThrownBy(() -> table.read(name("x")))
                    .isInstanceOf(SQLException.class)
                    .hasMessageNotContaining("rubbish");
        }
    }

    /** SQLite takes the write lock first, so this cannot happen there. */
    @Test
    void twoFirstRowsOfOneNameAreContention() throws SQLException {
        try (Connection connection = connect(Database.H2)) {
            LeaseTable table = table(Database.H2, connection);
            table.insert(held("x", 1));
            assertThatThrownBy(() -> table.insert(held("x", 1)))
                    .isInstanceOfSatisfying(
                            SQLException.class,
                            e -> assertThat(Database.H2.dialect.troubles().apply(e))
                                    .isEqualTo(SqlTrouble.CONTENTION));
        }
    }
}
