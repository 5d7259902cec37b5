package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.fencing.Access;
import io.leasehold.fencing.Admission;
import io.leasehold.fencing.FencingGuard;
import io.leasehold.testkit.tck.FencingGuardTck;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLSyntaxErrorException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Readers of a row, also beside guards that keep one number; the same on every database. */
@Timeout(120)
interface FencingReadersTests extends FencingGuardTck {

    SqlFencingGuard ONE_NUMBER = SqlFencingGuard.of("fenced", "id", "fencing_token");
    SqlFencingGuard ROWS = ONE_NUMBER.withReaders("fencing_writer", "fencing_writer_at");

    Connection connect() throws SQLException;

    @Override
    default FencingGuard guard() {
        return new OfRows(this, ROWS);
    }

    @Override
    default FencingGuard olderGuard() {
        return new OfRows(this, ONE_NUMBER);
    }

    /** The resource {@code tck-1} is the row 1; each admission is a transaction. */
    record OfRows(FencingReadersTests database, SqlFencingGuard rows) implements FencingGuard {
        @Override
        public Admission admit(String resource, long token) {
            return admit(resource, token, Access.WRITE);
        }

        @Override
        public Admission admit(String resource, long token, Access access) {
            try (Connection connection = database.transaction()) {
                long row = Long.parseLong(resource.substring("tck-".length()));
                Admission admission = rows.admit(connection, row, token, access);
                connection.commit();
                return admission;
            } catch (SQLException e) {
                throw new AssertionError(e);
            }
        }
    }

    default Connection transaction() throws SQLException {
        Connection connection = connect();
        connection.setAutoCommit(false);
        return connection;
    }

    @BeforeEach
    default void makeFencedRows() throws SQLException {
        try (Connection connection = connect()) {
            update(connection, "DROP TABLE IF EXISTS fenced");
            update(
                    connection,
                    "CREATE TABLE fenced (id BIGINT PRIMARY KEY, amount BIGINT NOT NULL, fencing_token BIGINT,"
                            + " fencing_writer BIGINT, fencing_writer_at BIGINT)");
            update(connection, "INSERT INTO fenced (id, amount) VALUES (1, 0), (2, 0)");
        }
    }

    static void update(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate(sql);
        }
    }

    /** The three columns of the row 1. */
    private List<Object> columns(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(
                        "SELECT fencing_token, fencing_writer, fencing_writer_at FROM fenced WHERE id = 1")) {
            row.next();
            List<Object> values = new ArrayList<>();
            for (int column = 1; column <= 3; column++) {
                long value = row.getLong(column);
                values.add(row.wasNull() ? "null" : value);
            }
            return values;
        }
    }

    @Test
    default void theColumnsSayWhoseTheNewestTokenIs() throws SQLException {
        try (Connection connection = transaction()) {
            ROWS.admit(connection, 1L, 3, Access.READ).orElseThrow();
            assertThat(columns(connection)).containsExactly(3L, 0L, 3L);
            ROWS.admit(connection, 1L, 5).orElseThrow();
            assertThat(columns(connection)).containsExactly(5L, "null", 3L);
            ROWS.admit(connection, 1L, 9, Access.READ).orElseThrow();
            assertThat(columns(connection)).containsExactly(9L, 5L, 9L);
            ROWS.admit(connection, 1L, 7, Access.READ).orElseThrow();
            assertThat(columns(connection)).containsExactly(9L, 5L, 9L);
            ONE_NUMBER.admit(connection, 1L, 11).orElseThrow();
            assertThat(columns(connection)).containsExactly(11L, 5L, 9L);
            assertThat(ROWS.admit(connection, 1L, 10, Access.READ))
                    .isEqualTo(new Admission.Rejected("fenced 1", 10, 11));
            ROWS.admit(connection, 1L, 11, Access.READ).orElseThrow();
            assertThat(columns(connection)).containsExactly(11L, 11L, 11L);
            assertThat(ROWS.admit(connection, 7L, 1, Access.READ)).isEqualTo(new Admission.Missing("fenced 7", 1));
            connection.rollback();
            assertThat(columns(connection)).containsExactly("null", "null", "null");
            connection.rollback();
        }
    }

    /** Whatever stands in the two columns without a sense: the newest token counts as a writer's. */
    @Test
    default void aWritersTokenThatIsNullOrDoesNotCountIsTheNewest() throws SQLException {
        try (Connection connection = transaction()) {
            for (String left : List.of("NULL, 9", "5, NULL", "5, 8", "12, 9", "-1, 9", "NULL, NULL")) {
                int comma = left.indexOf(',');
                update(
                        connection,
                        "UPDATE fenced SET fencing_token = 9, fencing_writer = " + left.substring(0, comma)
                                + ", fencing_writer_at = " + left.substring(comma + 2) + " WHERE id = 1");
                assertThat(ROWS.admit(connection, 1L, 8, Access.READ))
                        .as(left)
                        .isEqualTo(new Admission.Rejected("fenced 1", 8, 9));
                ROWS.admit(connection, 1L, 11, Access.READ).orElseThrow();
                assertThat(columns(connection)).as(left).containsExactly(11L, 9L, 11L);
            }
            update(
                    connection,
                    "UPDATE fenced SET fencing_token = NULL, fencing_writer = 9, fencing_writer_at = 9 WHERE id = 1");
            ROWS.admit(connection, 1L, 5, Access.READ).orElseThrow();
            assertThat(columns(connection)).as("never fenced").containsExactly(5L, 0L, 5L);
            connection.rollback();
        }
    }

    /** A column that is compared with itself would make an older guard's writer count as none. */
    @Test
    default void eachColumnIsNamedOnce() {
        for (String one : List.of("fencing_token", "FENCING_TOKEN", "id", "Fencing_Writer")) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> ONE_NUMBER.withReaders("fencing_writer", one))
                    .withMessageContaining(one);
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ONE_NUMBER.withReaders("FENCING_token", "fencing_writer_at"));
        assertThatIllegalArgumentException().isThrownBy(() -> SqlFencingGuard.of("fenced", "id", "ID"));
        assertThat(ROWS.writerColumn()).hasValue("fencing_writer");
        assertThat(ROWS.writerAtColumn()).hasValue("fencing_writer_at");
        assertThat(ONE_NUMBER.writerColumn()).isEmpty();
        assertThat(ONE_NUMBER.writerAtColumn()).isEmpty();
    }

    @Test
    default void aGuardOfOneNumberRefusesReadersAndSaysWhatItLacks() throws SQLException {
        try (Connection connection = transaction()) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> ONE_NUMBER.admit(connection, 1L, 5, Access.READ))
                    .withMessageContainingAll("fenced.fencing_token", "withReaders");
            assertThatNullPointerException().isThrownBy(() -> ROWS.admit(connection, 1L, 5, (Access) null));
            connection.rollback();
        }
        try (Connection connection = connect()) {
            assertThatIllegalStateException().isThrownBy(() -> ROWS.admit(connection, 1L, 5, Access.READ));
        }
    }

    /** A table of an earlier version: no guard with readers works before what its message says has been executed. */
    @Test
    default void aTableWithoutTheColumnsIsRefusedWithTheStatementsThatAddThem() throws SQLException {
        try (Connection connection = connect()) {
            update(connection, "DROP TABLE fenced");
            update(connection, "CREATE TABLE fenced (id BIGINT PRIMARY KEY, fencing_token BIGINT)");
            update(connection, "INSERT INTO fenced (id) VALUES (1)");
        }
        try (Connection connection = transaction()) {
            ONE_NUMBER.admit(connection, 1L, 5).orElseThrow();
            connection.commit();
            for (Access access : Access.values()) {
                assertThatThrownBy(() -> ROWS.admit(connection, 1L, 6, access))
                        .isInstanceOf(SQLSyntaxErrorException.class)
                        .hasCauseInstanceOf(SQLException.class)
                        .hasMessageContainingAll("fenced 1", "whose column is missing");
                connection.rollback();
            }
            Throwable refused = catchThrowable(() -> ROWS.admit(connection, 1L, 6));
            connection.rollback();
            List<String> told = statementsIn(refused);
            assertThat(told).hasSize(3);
            assertThat(told.get(0)).isEqualTo("ALTER TABLE fenced ADD COLUMN fencing_token BIGINT");
            update(connection, told.get(1));
            connection.commit();
            assertThat(statementsIn(catchThrowable(() -> ROWS.admit(connection, 1L, 6, Access.READ))))
                    .as("one of the two is missing")
                    .isEqualTo(told);
            connection.rollback();
            update(connection, told.get(2));
            connection.commit();
            assertThat(ROWS.admit(connection, 1L, 4, Access.READ))
                    .as("the token of the time before counts as a writer's")
                    .isEqualTo(new Admission.Rejected("fenced 1", 4, 5));
            ROWS.admit(connection, 1L, 7, Access.READ).orElseThrow();
            ROWS.admit(connection, 1L, 6, Access.READ).orElseThrow();
            assertThat(columns(connection)).containsExactly(7L, 5L, 7L);
            connection.rollback();
        }
    }

    @Test
    default void aTableThatWasNeverFencedIsRefusedWithTheStatementThatAddsItsColumn() throws SQLException {
        try (Connection connection = transaction()) {
            SqlFencingGuard unknown = SqlFencingGuard.of("fenced", "id", "other_token");
            Throwable refused = catchThrowable(() -> unknown.admit(connection, 1L, 6));
            connection.rollback();
            assertThat(statementsIn(refused)).containsExactly("ALTER TABLE fenced ADD COLUMN other_token BIGINT");
            update(connection, statementsIn(refused).get(0));
            connection.commit();
            unknown.admit(connection, 1L, 6).orElseThrow();
            connection.rollback();
            assertThatThrownBy(() -> SqlFencingGuard.of("absent", "id", "token").admit(connection, 1L, 6))
                    .as("another error is passed on")
                    .isInstanceOf(SQLException.class)
                    .hasMessageNotContaining("ALTER TABLE");
            connection.rollback();
        }
    }

    /** What an operator copies from the message. */
    private static List<String> statementsIn(Throwable refusal) {
        return Pattern.compile("ALTER TABLE \\w+ ADD COLUMN \\w+ BIGINT")
                .matcher(refusal.getMessage())
                .results()
                .map(MatchResult::group)
                .toList();
    }

    @Test
    default void aGuardOfOneNumberSaysHowItsTableIsMadeReadyForReaders() throws SQLException {
        try (Connection connection = transaction()) {
            SqlFencingGuard before = SqlFencingGuard.of("fenced", "id", "other_token");
            update(connection, "ALTER TABLE fenced ADD COLUMN other_token BIGINT");
            connection.commit();
            Throwable refused = catchThrowable(() -> before.admit(connection, 1L, 5, Access.READ));
            assertThat(refused)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("withReaders(\"other_writer\", \"other_writer_at\")");
            for (String statement : statementsIn(refused)) {
                update(connection, statement);
                connection.commit();
            }
            assertThatIllegalStateException()
                    .as("a name of the greatest length")
                    .isThrownBy(() ->
                            SqlFencingGuard.of("fenced", "id", "x".repeat(63)).admit(connection, 1L, 5, Access.READ))
                    .withMessageContaining("x".repeat(50) + "_writer_at BIGINT");
            before.withReaders("other_writer", "other_writer_at")
                    .admit(connection, 1L, 5, Access.READ)
                    .orElseThrow();
            connection.rollback();
        }
    }

    @Test
    default void aLeasePresentsItsTokenAndItsKindAndTheObserverHearsIt() throws SQLException, InterruptedException {
        List<Admission> heard = new ArrayList<>();
        try (LockClient client = Leasehold.connect("memory:");
                Lease lease = client.named("order").acquire();
                Connection connection = transaction()) {
            SqlFencingGuard told =
                    ONE_NUMBER.reportingTo(heard::add).withReaders("fencing_writer", "fencing_writer_at");
            assertThat(told.admit(connection, 1L, lease))
                    .isEqualTo(new Admission.Admitted("fenced 1", lease.fencingToken()));
            told.admit(connection, 1L, 1, Access.READ);
            assertThat(heard)
                    .containsExactly(
                            new Admission.Admitted("fenced 1", lease.fencingToken()),
                            new Admission.Rejected("fenced 1", 1, lease.fencingToken()));
            connection.rollback();
        }
    }
}
