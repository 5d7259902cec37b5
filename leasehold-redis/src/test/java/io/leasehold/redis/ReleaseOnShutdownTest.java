package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.testkit.process.ChildJvm;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests that a JVM that gets a SIGTERM notifies its holders and then releases its locks. */
@Tag("full")
class ReleaseOnShutdownTest {

    private static final Duration PATIENCE = Duration.ofMinutes(2);

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    /** Holds a lock in a thread that works until its notification, and another lock permanently. */
    static final class HolderMain {
        private HolderMain() {}

        /** Arguments: store URI, whether to release at the exit. */
        @SuppressWarnings("SystemOut")
        public static void main(String[] args) throws Exception {
            Leasehold.Builder builder = Leasehold.builder()
                    .store(args[0])
                    .defaults(LockOptions.defaults().ttl(Duration.ofMinutes(5)));
            if (Boolean.parseBoolean(args[1])) {
                builder.releaseOnShutdown(Duration.ofSeconds(6));
            }
            LockClient locks = builder.connect();
            locks.named("kept").acquireAsync().join();
            Lease lease = locks.named("working").acquire();
            lease.onLost(cause -> System.out.println("TOLD " + cause));
            System.out.println("HELD");
            while (lease.isValid()) {
                Thread.sleep(5);
            }
            // Its current step takes a while.
            Thread.sleep(300);
            System.out.println("DONE");
            lease.close();
            Thread.sleep(PATIENCE.toMillis());
        }
    }

    private static List<String> terminated(boolean release) throws InterruptedException {
        try (ChildJvm child = ChildJvm.of(HolderMain.class)
                .arguments(SERVER.server().uri(), Boolean.toString(release))
                .start()) {
            child.awaitLine("HELD", PATIENCE);
            child.terminate();
            child.waitFor(PATIENCE);
            return child.lines();
        }
    }

    @Test
    void everythingIsFreeWhenTheProcessHasEnded() throws Exception {
        assertThat(terminated(true)).containsSubsequence("HELD", "TOLD CLIENT_CLOSED", "DONE");
        try (LockClient other = Leasehold.connect(SERVER.server().uri());
                Lease working = other.named("working").tryAcquire(Duration.ZERO);
                Lease kept = other.named("kept").tryAcquire(Duration.ZERO)) {
            assertThat(working).isNotNull();
            assertThat(kept).isNotNull();
        }
    }

    @Test
    void withoutItTheLocksEndWithTheirTtl() throws Exception {
        assertThat(terminated(false)).containsExactly("HELD");
        try (LockClient other = Leasehold.connect(SERVER.server().uri())) {
            assertThat(other.named("working").tryAcquire(Duration.ZERO)).isNull();
        }
    }
}
