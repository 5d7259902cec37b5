package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.ReentrantLockView;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Re-entry: counted for each thread, without requests, and never beyond the limit of the count. */
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

    private void leftBehind(int number, LeaseHandle lease) throws InterruptedException {
        Thread thread = new Thread(() -> holds.begin(LockName.exactly("left-" + number), lease, 1));
        thread.start();
        thread.join();
    }

    /** The table is swept when it has doubled; the holds of living threads stay in it. */
    @Test
    void theTableIsSweptWhenItHasDoubledAndLivingHoldsStay() throws InterruptedException {
        LeaseHandle lease = lease();
        for (int i = 0; i < 64; i++) {
            leftBehind(i, lease);
        }
        assertThat(holds.size()).isEqualTo(64);
        for (int i = 0; i < 65; i++) {
            holds.begin(LockName.exactly("mine-" + i), lease, 1);
        }
        assertThat(holds.size())
                .as("the dead ones went with the first of these")
                .isEqualTo(65);
        for (int i = 0; i < 65; i++) {
            assertThat(holds.ofCurrentThread(LockName.exactly("mine-" + i))).isNotNull();
        }
        for (int i = 64; i < 64 + 65; i++) {
            leftBehind(i, lease);
        }
        assertThat(holds.size()).as("up to twice as many").isEqualTo(130);
        leftBehind(200, lease);
        assertThat(holds.size()).isEqualTo(66);
    }

    /** No thread is left to unlock it. */
    @Test
    void aHoldWhoseThreadHasDiedIsAbandonedAtItsNextRenewal() throws InterruptedException {
        StillRuntime runtime = (StillRuntime) workshop.runtime;
        LeaseHandle lease = lease();
        leftBehind(1, lease);
        runtime.pass(Duration.ofSeconds(31));
        assertThat(lease.state().cause()).isEqualTo(LossCause.THREAD_DIED);
    }

    @Test
    void aViewTellsOfTheCauseWhetherItChecksOrUnlocks() {
        try (LockClient client = Leasehold.connect("memory:")) {
            LockName name = LockName.exactly("n");
            ReentrantLockView view = client.named(name).asReentrantLock();
            view.lock();
            view.ensureValidFor(Duration.ofSeconds(1));
            client.admin().forceRelease(name, null);
            assertThatThrownBy(view::unlock)
                    .isInstanceOfSatisfying(
                            LeaseLostException.class,
                            lost -> assertThat(lost.lossCause()).isEqualTo(LossCause.FORCE_RELEASED));
            view.lock();
            client.admin().forceRelease(name, null);
            assertThatThrownBy(() -> view.ensureValidFor(Duration.ofSeconds(1))).isInstanceOf(LeaseLostException.class);
            view.lock();
            assertThat(view.getHoldCount())
                    .as("its thread was told, and begins anew")
                    .isOne();
            view.unlock();
        }
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
