package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.MultiLease;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A thread that would wait for itself is refused; a thread that waits for another thread is not. */
@Tag("quick")
final class SelfWaitTest {

    private static final LockName NAME = LockName.exactly("n");

    @Test
    void waitingForOnesOwnLeaseWithoutLimitIsRefused() throws InterruptedException {
        try (LockClient client = Leasehold.connect("memory:")) {
            Lease lease = client.named(NAME).acquire();
            assertThatThrownBy(() -> client.named(NAME).acquire())
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("wait for itself")
                    .hasMessageContaining("thread \"" + Thread.currentThread().getName() + "\" opened")
                    .hasMessageContaining("\"n\"");
            assertThatThrownBy(() -> client.named(NAME).asReentrantLock().lock())
                    .isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(() -> client.all(LockName.exactly("m"), NAME).acquire())
                    .isInstanceOf(IllegalStateException.class);
            assertThat(client.named(NAME).tryAcquire(Duration.ofMillis(20))).isNull();
            assertThat(lease.isValid()).as("nothing was lost").isTrue();
            lease.close();
            client.named(NAME).acquire().close();
        }
    }

    @Test
    void aPartOfSeveralLocksIsNoDifferent() throws InterruptedException {
        try (LockClient client = Leasehold.connect("memory:");
                MultiLease both = client.all(LockName.exactly("m"), NAME).acquire()) {
            assertThatThrownBy(() -> client.named(NAME).acquire()).isInstanceOf(IllegalStateException.class);
            assertThat(both.isValid()).isTrue();
        }
    }

    @Test
    void waitingForAThreadThatHasTheLeaseNowIsAllowed() throws InterruptedException {
        try (LockClient client = Leasehold.connect("memory:")) {
            Lease lease = client.named(NAME).acquire();
            CountDownLatch using = new CountDownLatch(1);
            Thread other = new Thread(() -> {
                lease.ensureValidFor(Duration.ZERO);
                using.countDown();
                lease.close();
            });
            other.start();
            using.await();
            try (Lease next = client.named(NAME).acquire()) {
                assertThat(next.fencingToken()).isGreaterThan(lease.fencingToken());
            }
            other.join();
        }
    }

    @Test
    void whoHandsALeaseOnBeforehandWaitsWithAttempt() throws InterruptedException {
        try (LockClient client = Leasehold.connect("memory:")) {
            Lease lease = client.named(NAME).acquire();
            Thread other = new Thread(lease::close);
            other.start();
            try (Lease next =
                    client.named(NAME).attempt(ChronoUnit.FOREVER.getDuration()).orElseThrow()) {
                assertThat(next.isValid()).isTrue();
            }
            other.join();
        }
    }
}
