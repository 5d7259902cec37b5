package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.fencing.Admission;
import io.leasehold.spi.OwnerToken;
import io.leasehold.testkit.process.ChildJvm;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A lock file that is restored from yesterday, and processes that compete for the disk. */
@Timeout(240)
@Tag("full")
class SqliteFaultsTest {

    private static final Duration PATIENCE = Duration.ofMinutes(3);

    @TempDir
    private Path directory;

    private Path file() {
        return directory.resolve("locks.db");
    }

    /** Acquires and releases as often as possible until it is told to end. */
    static final class Contender {
        private Contender() {}

        public static void main(String[] args) throws Exception {
            long longestNanos = 0;
            long times = 0;
            try (LockClient client = Leasehold.connect(args[0])) {
                System.out.println("ready");
                System.in.read();
                long untilNanos = System.nanoTime() + Long.parseLong(args[2]) * 1_000_000;
                for (; System.nanoTime() - untilNanos < 0; times++) {
                    long askedAtNanos = System.nanoTime();
                    try (Lease lease = client.named(args[1]).acquire()) {
                        longestNanos = Math.max(longestNanos, System.nanoTime() - askedAtNanos);
                    }
                }
            }
            System.out.println("done " + times + " longest " + longestNanos / 1_000_000);
        }
    }

    private record Share(long times, long longestMillis) {}

    private List<Share> contend(boolean sameLock) throws Exception {
        String uri = "sqlite:" + file() + "?synchronous=full";
        List<ChildJvm> children = new ArrayList<>();
        List<Share> shares = new ArrayList<>();
        try {
            for (int i = 0; i < 3; i++) {
                children.add(ChildJvm.of(Contender.class)
                        .jvmArgument("-Xmx64m")
                        .arguments(uri, sameLock ? "same" : "own-" + i, "4000")
                        .start());
            }
            for (ChildJvm child : children) {
                child.awaitLine("ready", PATIENCE);
            }
            for (ChildJvm child : children) {
                child.send("go");
            }
            for (ChildJvm child : children) {
                String[] words = child.awaitLine("done", PATIENCE).split(" ", -1);
                shares.add(new Share(Long.parseLong(words[1]), Long.parseLong(words[3])));
            }
        } finally {
            children.forEach(ChildJvm::close);
        }
        System.out.println(
                "shares under synchronous=full, " + (sameLock ? "one lock: " : "locks of their own: ") + shares);
        return shares;
    }

    private static void assertNobodyStarved(List<Share> shares) {
        long most = shares.stream().mapToLong(Share::times).max().orElseThrow();
        assertThat(shares).allSatisfy(share -> assertThat(share.times()).isGreaterThan(most / 8));
    }

    /** A waiter for the lock has its turn, although each commit waits for the disk. */
    @Test
    void noProcessStarvesAtOneLockUnderFullSynchronous() throws Exception {
        assertNobodyStarved(contend(true));
    }

    /** No process starves at SQLite's own write lock either, which all locks of a file share. */
    @Test
    void noProcessStarvesAtTheFileUnderFullSynchronous() throws Exception {
        assertNobodyStarved(contend(false));
    }

    /**
     * The resource keeps the largest token, and the restored lock file lacks it: tokens continue above it all the same.
     */
    @Test
    void tokensIncreaseOverARestoredBackup() throws Exception {
        long before = acquireTimes(1);
        Path backup = directory.resolve("backup.db");
        Files.copy(file(), backup);
        long since = acquireTimes(20);
        Files.copy(backup, file(), java.nio.file.StandardCopyOption.REPLACE_EXISTING);
        Files.deleteIfExists(directory.resolve("locks.db-wal"));
        Files.deleteIfExists(directory.resolve("locks.db-shm"));
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file());
                Statement statement = connection.createStatement()) {
            long fence = statement
                    .executeQuery("SELECT fence FROM leasehold_lock WHERE name = 'x'")
                    .getLong(1);
            assertThat(fence).as("the file has forgotten").isLessThan(since).isGreaterThanOrEqualTo(before);
        }
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + directory.resolve("shop.db"));
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, fencing_token INTEGER)");
            statement.execute("INSERT INTO orders VALUES (1, NULL)");
            connection.setAutoCommit(false);
            SqlFencingGuard guard = SqlFencingGuard.of("orders", "id", "fencing_token");
            guard.admit(connection, 1, since).orElseThrow();
            long after = acquireTimes(1);
            assertThat(after).isGreaterThan(since);
            guard.admit(connection, 1, after).orElseThrow();
            assertThat(guard.admit(connection, 1, since)).isInstanceOf(Admission.Rejected.class);
            connection.commit();
        }
    }

    private long acquireTimes(int times) {
        long last = 0;
        try (LeaseClient client = LeaseClient.open(runtime -> SqliteStore.open(file(), runtime))) {
            for (int i = 0; i < times; i++) {
                OwnerToken owner = client.owner();
                last = client.granted("x", owner).grant().tokens().last();
                client.release("x", owner);
            }
        }
        return last;
    }
}
