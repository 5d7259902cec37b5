package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.testkit.process.ChildJvm;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A JVM that receives a SIGTERM releases its locks after it has notified their holders. */
@Tag("full")
class SqliteShutdownTest {

    private static final Duration PATIENCE = Duration.ofMinutes(2);

    @TempDir
    private Path directory;

    private String uri() {
        return "sqlite:" + directory.resolve("locks.db");
    }

    /** Holds a lock in a thread that works until it is notified, and another one permanently. */
    static final class HolderMain {
        private HolderMain() {}

        /** Argument: store URI. */
        @SuppressWarnings("SystemOut")
        public static void main(String[] args) throws Exception {
            LockClient locks = Leasehold.builder()
                    .store(args[0])
                    .defaults(LockOptions.defaults().ttl(Duration.ofMinutes(5)))
                    .releaseOnShutdown(Duration.ofSeconds(6))
                    .connect();
            locks.named("kept").acquireAsync().join();
            Lease lease = locks.named("working").acquire();
            lease.onLost(cause -> System.out.println("TOLD " + cause));
            System.out.println("HELD");
            while (lease.isValid()) {
                Thread.sleep(5);
            }
            // The current work takes a while.
            Thread.sleep(300);
            System.out.println("DONE");
            lease.close();
            Thread.sleep(PATIENCE.toMillis());
        }
    }

    private List<String> terminated() throws InterruptedException {
        try (ChildJvm child = ChildJvm.of(HolderMain.class).arguments(uri()).start()) {
            child.awaitLine("HELD", PATIENCE);
            child.terminate();
            child.waitFor(PATIENCE);
            return child.lines();
        }
    }

    @Test
    void everythingIsFreeWhenTheProcessHasEnded() throws Exception {
        assertThat(terminated()).containsSubsequence("HELD", "TOLD CLIENT_CLOSED", "DONE");
        try (LockClient other = Leasehold.connect(uri());
                Lease working = other.named("working").tryAcquire(Duration.ZERO);
                Lease kept = other.named("kept").tryAcquire(Duration.ZERO)) {
            assertThat(working).isNotNull();
            assertThat(kept).isNotNull();
        }
    }
}
