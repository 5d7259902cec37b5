package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.fencing.Access;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("full")
class PostgresRowProtectionTest implements RowProtectionTests, LockedReadersTests {

    @TempDir
    private static Path directory;

    private static @Nullable PostgresServer server;

    @BeforeAll
    static void startServer() throws IOException {
        server = PostgresServer.start(directory);
    }

    @AfterAll
    static void stopServer() throws IOException {
        if (server != null) {
            server.close();
        }
    }

    @Override
    public Connection transaction() throws SQLException {
        return RowProtectionTests.super.transaction();
    }

    @Override
    public Connection connect() throws SQLException {
        return DriverManager.getConnection(server.url());
    }

    /** Its admission is an update, and so was that of the other reader, who changed no value. */
    @Test
    void aReaderAtRepeatableReadMustRepeatAfterAnotherReader() throws SQLException {
        try (Connection one = transaction();
                Connection two = transaction()) {
            ROWS.admit(one, 1L, 9, Access.READ).orElseThrow();
            one.commit();
            ROWS.admit(one, 1L, 7, Access.READ).orElseThrow();
            two.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            try (Statement snapshot = two.createStatement()) {
                snapshot.execute("SELECT amount FROM fenced");
            }
            one.commit();
            assertThatThrownBy(() -> ROWS.admit(two, 1L, 8, Access.READ))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
            two.rollback();
            ROWS.admit(two, 1L, 8, Access.READ).orElseThrow();
            two.rollback();
        }
    }
}
