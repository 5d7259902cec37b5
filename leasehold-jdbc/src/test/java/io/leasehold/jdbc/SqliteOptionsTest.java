package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.jdbc.sqlite.FileSystems;
import io.leasehold.jdbc.sqlite.Synchronous;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The options of a file take effect, however the file is opened. */
@Tag("quick")
@Timeout(60)
class SqliteOptionsTest {

    @TempDir
    private Path directory;

    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);

    private Path file() {
        return directory.resolve("locks.db");
    }

    private void acquire(LockStore store, String name, OwnerToken owner) {
        CompletableFuture<AcquireReply> reply = store.acquire(LeaseClient.request(name, owner));
        runtime.runFor(Duration.ofMillis(10));
        assertThat(reply.join()).isInstanceOf(AcquireReply.Granted.class);
    }

    private long number(String sql) throws SQLException {
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file());
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            return row.getLong(1);
        }
    }

    /** If each commit waits for the disk, no bound of the tokens must. */
    @Test
    void eachCommitWaitsForTheDiskAlsoInAFileThatIsThere() throws Exception {
        for (String options : new String[] {"synchronous=full", "create=false&synchronous=full"}) {
            StoreUri uri = StoreUri.parse("sqlite:" + file() + "?" + options);
            try (LockStore store = new JdbcStoreProvider().open(uri, runtime)) {
                acquire(store, "x" + options.length(), OwnerToken.draw(runtime));
            }
            assertThat(number("SELECT token_horizon FROM leasehold_store"))
                    .as(options)
                    .isZero();
        }
        StoreUri uri = StoreUri.parse("sqlite:" + file() + "?create=false");
        try (LockStore store = new JdbcStoreProvider().open(uri, runtime)) {
            acquire(store, "y", OwnerToken.draw(runtime));
        }
        assertThat(number("SELECT token_horizon FROM leasehold_store")).isPositive();
    }

    @Test
    void rowsAreKeptForAsLongAsWasAskedFor() throws Exception {
        try (LockStore store =
                SqliteStore.open(file(), Synchronous.NORMAL, FileSystems.real(), runtime, Duration.ofHours(1), true)) {
            OwnerToken owner = OwnerToken.draw(runtime);
            acquire(store, "old", owner);
            CompletableFuture<?> released = store.release(LeaseClient.releaseRequest("old", owner, 0));
            runtime.runFor(Duration.ofHours(2));
            assertThat(released).isDone();
            for (int i = 0; i < 64; i++) {
                acquire(store, "new" + i, OwnerToken.draw(runtime));
            }
            assertThat(number("SELECT COUNT(*) FROM leasehold_lock WHERE name = 'old'"))
                    .isZero();
            assertThat(number("SELECT COUNT(*) FROM leasehold_lock")).isEqualTo(64);
        }
    }
}
