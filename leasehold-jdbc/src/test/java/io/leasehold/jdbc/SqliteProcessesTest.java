package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.DistributedLock;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.spi.OwnerToken;
import io.leasehold.testkit.process.ChildJvm;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Several processes on one lock file: they lose no increment, and dying at any moment leaves the file usable. */
@Tag("full")
class SqliteProcessesTest {

    private static final Duration PATIENCE = Duration.ofMinutes(8);
    private static final int JVMS = 4;
    private static final int INCREMENTS = Integer.getInteger("leasehold.test.increments", 2_000);
    private static final int KILLS = 20;

    @TempDir
    private Path directory;

    /** Increments the number in a plain file this many times, each time under the lock. */
    static final class Counter {
        private Counter() {}

        public static void main(String[] args) throws Exception {
            Path number = Path.of(args[1]);
            int times = Integer.parseInt(args[2]);
            long longestNanos = 0;
            long lastToken = 0;
            long startAtNanos = System.nanoTime();
            try (LockClient client = Leasehold.connect(args[0])) {
                DistributedLock lock = client.named("counter");
                for (int i = 0; i < times; i++) {
                    long askedAtNanos = System.nanoTime();
                    try (Lease lease = lock.acquire()) {
                        longestNanos = Math.max(longestNanos, System.nanoTime() - askedAtNanos);
                        if (lease.fencingToken() <= lastToken) {
                            throw new AssertionError(lease.fencingToken() + " after " + lastToken);
                        }
                        lastToken = lease.fencingToken();
                        long value = Long.parseLong(Files.readString(number));
                        Files.writeString(number, Long.toString(value + 1));
                    }
                }
            }
            System.out.println("counted " + times + " in " + millis(System.nanoTime() - startAtNanos)
                    + " ms, longest wait " + millis(longestNanos) + " ms");
        }

        private static long millis(long nanos) {
            return nanos / 1_000_000;
        }
    }

    @Test
    void noIncrementOfAPlainFileIsLost() throws Exception {
        Path number = Files.writeString(directory.resolve("number"), "0");
        String uri = "sqlite:" + directory.resolve("locks.db");
        List<ChildJvm> children = new ArrayList<>();
        try {
            for (int i = 0; i < JVMS; i++) {
                children.add(ChildJvm.of(Counter.class)
                        .arguments(uri, number.toString(), String.valueOf(INCREMENTS))
                        .start());
            }
            for (ChildJvm child : children) {
                System.out.println(child.awaitLine("counted", PATIENCE));
            }
        } finally {
            children.forEach(ChildJvm::close);
        }
        assertThat(Files.readString(number)).isEqualTo(String.valueOf(JVMS * INCREMENTS));
    }

    /** Acquires, renews and releases as fast as possible, forever. */
    static final class Churner {
        private Churner() {}

        public static void main(String[] args) {
            try (LeaseClient client = LeaseClient.open(runtime -> SqliteStore.open(Path.of(args[0]), runtime))) {
                System.out.println("ready");
                for (long i = 0; ; i++) {
                    OwnerToken owner = client.owner();
                    String name = "lock-" + i % 300;
                    client.acquire(LeaseClient.request(name, owner).waiting(1_000_000));
                    client.renew(name, owner, LeaseClient.TTL);
                    client.release(name, owner);
                }
            }
        }
    }

    @Test
    void killedProcessesLeaveTheFileUsable() throws Exception {
        Path file = directory.resolve("locks.db");
        SplittableRandom random = new SplittableRandom(1);
        try (LeaseClient survivor = LeaseClient.open(runtime -> SqliteStore.open(file, runtime))) {
            for (int i = 0; i < KILLS; i++) {
                try (ChildJvm child =
                        ChildJvm.of(Churner.class).arguments(file.toString()).start()) {
                    child.awaitLine("ready", PATIENCE);
                    long untilNanos = System.nanoTime() + random.nextLong(1_000_000, 150_000_000);
                    while (System.nanoTime() - untilNanos < 0) {
                        OwnerToken owner = survivor.owner();
                        survivor.granted("survivor", owner);
                        survivor.release("survivor", owner);
                    }
                    child.kill();
                }
                OwnerToken owner = survivor.owner();
                survivor.granted("after-" + i, owner);
                survivor.release("after-" + i, owner);
            }
        }
        // With no process left, a newcomer opens the file and replays its log.
        try (LeaseClient newcomer = LeaseClient.open(runtime -> SqliteStore.open(file, runtime))) {
            newcomer.granted("newcomer", newcomer.owner());
        }
        assertThat(integrity(file)).isEqualTo("ok");
    }

    @Test
    void killedAloneLeavesTheFileUsable() throws Exception {
        Path file = directory.resolve("alone.db");
        for (int i = 0; i < 5; i++) {
            try (ChildJvm child =
                    ChildJvm.of(Churner.class).arguments(file.toString()).start()) {
                child.awaitLine("ready", PATIENCE);
                child.kill();
            }
            assertThat(integrity(file)).isEqualTo("ok");
        }
    }

    private static String integrity(Path file) throws SQLException {
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file);
                Statement statement = connection.createStatement()) {
            return statement.executeQuery("PRAGMA integrity_check").getString(1);
        }
    }
}
