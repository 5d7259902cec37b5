package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.leasehold.fencing.Admission;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tools that need no row locks also work on SQLite. */
@Tag("quick")
class SqliteFencingTest implements FencingReadersTests {

    @TempDir
    private Path directory;

    @Override
    public Connection connect() throws SQLException {
        return DriverManager.getConnection("jdbc:sqlite:" + directory.resolve("shop.db"));
    }

    @Test
    void guardsRowsAndSaysThatItCannotLockThem() throws SQLException {
        try (Connection connection = connect()) {
            try (Statement statement = connection.createStatement()) {
                statement.execute(
                        "CREATE TABLE orders (id INTEGER PRIMARY KEY, version INTEGER, fencing_token INTEGER)");
                statement.execute("INSERT INTO orders VALUES (1, 1, NULL)");
            }
            connection.setAutoCommit(false);
            SqlFencingGuard guard = SqlFencingGuard.of("orders", "id", "fencing_token");
            assertThat(guard.admit(connection, 1, 5).isAdmitted()).isTrue();
            assertThat(guard.admit(connection, 1, 4)).isEqualTo(new Admission.Rejected("orders 1", 4, 5));
            VersionCheck versions = VersionCheck.of("orders", "id", "version");
            versions.advance(connection, 1, versions.read(connection, 1).orElseThrow());
            connection.commit();
            assertThat(versions.read(connection, 1)).hasValue(2);

            assertThatIllegalArgumentException()
                    .isThrownBy(() -> RowLocks.in(connection))
                    .withMessageContaining("BEGIN IMMEDIATE");
        }
    }
}
