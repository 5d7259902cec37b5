package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests that a client that only looks creates no tables in a database. */
interface ExistingStoreTests {

    /** The URL of an existing database for this test alone. */
    String url();

    @BeforeEach
    default void beginWithoutTables() throws SQLException {
        for (String table : tables()) {
            execute("DROP TABLE " + table);
        }
    }

    /** Opens a store as it is. */
    static LockClient existing(String url) {
        return Leasehold.builder().store(url).existing().connect();
    }

    static void assertNoStore(String url) {
        assertThatThrownBy(() -> existing(url))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageStartingWith("there is no store at " + url.replaceAll("[;?].*", ""))
                .hasMessageContaining("no lock was ever acquired there");
    }

    default List<String> tables() throws SQLException {
        List<String> found = new ArrayList<>();
        try (Connection connection = DriverManager.getConnection(url());
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT LOWER(table_name) FROM information_schema.tables"
                        + " WHERE LOWER(table_name) LIKE 'leasehold%' ORDER BY 1")) {
            while (rows.next()) {
                found.add(rows.getString(1));
            }
        }
        return found;
    }

    private void execute(String text) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url());
                Statement statement = connection.createStatement()) {
            statement.execute(text);
        }
    }

    @Test
    default void aDatabaseWithoutTablesIsNoStoreAndGetsNone() throws SQLException {
        assertNoStore(url());
        assertThat(tables()).isEmpty();
    }

    @Test
    default void theLocksOfAStoreAreSeen() throws InterruptedException {
        try (LockClient ordinary = Leasehold.connect(url());
                Lease lease = ordinary.named("job").acquire();
                LockClient look = existing(url())) {
            assertThat(look.admin().list("*", 9)).hasSize(1);
            assertThat(look.admin().forceRelease(LockName.of("job"), null)).isTrue();
        }
    }

    /** An administrator may have created them, or earlier versions, which knew no table of clients. */
    @Test
    default void missingRowsAndTablesStayMissing() throws SQLException {
        Leasehold.connect(url()).close();
        execute("DROP TABLE leasehold_client");
        try (LockClient look = existing(url())) {
            assertThat(look.admin().list("*", 9)).isEmpty();
        }
        execute("DELETE FROM leasehold_store");
        assertNoStore(url());
        assertThat(tables()).containsExactly("leasehold_lock", "leasehold_store");
        assertNoStore(url());
    }
}
