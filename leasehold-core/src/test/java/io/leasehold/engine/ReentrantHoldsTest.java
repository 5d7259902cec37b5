package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.ReentrantLockView;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Re-entry: counted by thread, at no cost, and never beyond what can be counted. */
@SuppressWarnings("LockNotBeforeTry")
@Tag("quick")
final class ReentrantHoldsTest {

    private final Workshop workshop = new Workshop(new StillRuntime(), new SilentStore());
    private final ReentrantHolds holds = new ReentrantHolds();

    private LeaseHandle lease() {
        return workshop.keeper().begin(workshop.context.suspensions().mark(), null);
    }

    @Test
    void whatThreadsLeaveBehindIsForgotten() throws InterruptedException {
        LeaseHandle lease = lease();
        for (int i = 0; i < 200; i++) {
            LockName name = LockName.exactly("left-" + i);
            Thread thread = new Thread(() -> holds.begin(name, lease, 1));
            thread.start();
            thread.join();
            assertThat(holds.ofCurrentThread(name)).isNull();
        }
        assertThat(holds.size()).isLessThan(130);
        assertThat(lease.state().isUnreleased()).isTrue();
    }

    @Test
    void reEntryBeyondTheLimitIsRefusedAndLosesNothing() {
        try (LockClient client = Leasehold.connect("memory:")) {
            ReentrantLockView view =
                    client.named("n").with(o -> o.reentryLimit(3)).asReentrantLock();
            view.lock();
            long token = view.fencingToken();
            view.lock();
            assertThat(view.tryLock()).isTrue();
            assertThatThrownBy(view::lock)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContainingAll("\"n\"", "3 times", "reentryLimit");
            ReentrantLockView unlimited = client.named("n").asReentrantLock();
            assertThatThrownBy(unlimited::tryLock)
                    .as("the options of the outermost hold count")
                    .isInstanceOf(IllegalStateException.class);
            assertThat(view.getHoldCount()).isEqualTo(3);
            assertThat(view.fencingToken()).isEqualTo(token);
            view.unlock();
            view.unlock();
            view.unlock();
            assertThat(view.getHoldCount()).isZero();
            assertThat(client.admin().inspect(LockName.exactly("n"))).isEmpty();
        }
    }

    @Test
    void unlockIsTheHoldersAloneAndOnce() throws Exception {
        try (LockClient client = Leasehold.connect("memory:")) {
            ReentrantLockView view = client.named("n").asReentrantLock();
            assertThatThrownBy(view::unlock)
                    .isInstanceOf(IllegalMonitorStateException.class)
                    .isNotInstanceOf(LeaseLostException.class);
            view.lock();
            assertThatThrownBy(() -> CompletableFuture.runAsync(view::unlock).get(60, TimeUnit.SECONDS))
                    .hasCauseInstanceOf(IllegalMonitorStateException.class);
            assertThat(view.isHeldByCurrentThread()).isTrue();
            view.unlock();
            assertThatThrownBy(view::unlock).isInstanceOf(IllegalMonitorStateException.class);
            assertThatThrownBy(view::newCondition)
                    .isInstanceOf(UnsupportedOperationException.class)
                    .hasMessageContaining("condition");
        }
    }

    @Test
    void afterALossUnlockSaysSoOnceAndReEntryIsRefused() {
        try (LockClient client = Leasehold.connect("memory:")) {
            LockName name = LockName.exactly("n");
            ReentrantLockView view = client.named(name).asReentrantLock();
            view.lock();
            assertThat(client.admin().forceRelease(name, null)).isTrue();
            assertThatThrownBy(view::lock).isInstanceOf(LeaseLostException.class);
            assertThat(view.isHeldByCurrentThread()).isFalse();
            assertThatThrownBy(view::unlock)
                    .isInstanceOf(LeaseLostException.class)
                    .isInstanceOf(IllegalMonitorStateException.class);
            assertThatThrownBy(view::unlock)
                    .isInstanceOf(IllegalMonitorStateException.class)
                    .isNotInstanceOf(LeaseLostException.class);
            assertThat(view.tryLock()).as("and it can be locked again").isTrue();
            view.unlock();
        }
    }

    @Test
    void anInterruptDoesNotKeepAThreadFromUnlocking() {
        try (LockClient client = Leasehold.connect("memory:")) {
            ReentrantLockView view = client.named("n").asReentrantLock();
            Thread.currentThread().interrupt();
            view.lock();
            assertThat(Thread.currentThread().isInterrupted()).isTrue();
            view.unlock();
            assertThat(Thread.interrupted()).isTrue();
            assertThat(client.admin().inspect(LockName.exactly("n"))).isEmpty();
        }
    }
}
