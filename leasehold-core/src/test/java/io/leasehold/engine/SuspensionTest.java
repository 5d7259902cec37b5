package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockOptions;
import io.leasehold.Renewal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * After a suspension of the machine, no query of any thread reports a lease as valid before a renewal has confirmed it.
 */
@Tag("quick")
@Timeout(120)
final class SuspensionTest {

    private static final Duration HOUR = Duration.ofHours(1);
    /** More than the number of clock reads in any single step of the engine. */
    private static final int MAX_READS = 30;

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final Workshop shop = new Workshop(runtime, store);

    private LeaseHandle lease() {
        return lease(shop);
    }

    private static LeaseHandle lease(Workshop shop) {
        return shop.keeper().begin(shop.context.suspensions().mark(), null);
    }

    /** Stops this thread before its n-th read of a clock, and notifies the others. */
    private static final class Stop implements Runnable {
        private final Thread who;
        private final int before;
        private final AtomicInteger reads = new AtomicInteger();
        final CountDownLatch reached = new CountDownLatch(1);
        final CountDownLatch on = new CountDownLatch(1);

        Stop(Thread who, int before) {
            this.who = who;
            this.before = before;
        }

        @Override
        public void run() {
            if (Thread.currentThread() == who && reads.incrementAndGet() == before) {
                reached.countDown();
                try {
                    on.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
        }
    }

    private static void awaitStopOrEnd(Stop stop, Thread thread) throws InterruptedException {
        while (stop.reached.getCount() > 0 && thread.isAlive()) {
            Thread.sleep(1);
        }
    }

    private static void awaitBlockedOrEnd(Thread thread) throws InterruptedException {
        while (thread.isAlive()
                && thread.getState() != Thread.State.BLOCKED
                && thread.getState() != Thread.State.WAITING) {
            Thread.sleep(1);
        }
    }

    /** Wherever the thread that has just detected the suspension stands, no other thread sees a lease as valid. */
    @Test
    void whatOneThreadIsNoticingNoOtherThreadMisses() throws Exception {
        for (int before = 1; before <= MAX_READS; before++) {
            StillRuntime still = new StillRuntime();
            Workshop at = new Workshop(still, new SilentStore());
            List<LeaseHandle> leases = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                leases.add(lease(at));
            }
            still.suspend(HOUR);
            List<String> missed = new ArrayList<>();
            Thread first = new Thread(() -> look(leases.get(0), missed));
            Stop stop = new Stop(first, before);
            still.beforeAClockIsRead(stop);
            first.start();
            awaitStopOrEnd(stop, first);
            List<Thread> others = new ArrayList<>();
            for (LeaseHandle lease : leases) {
                Thread other = new Thread(() -> look(lease, missed));
                others.add(other);
                other.start();
                awaitBlockedOrEnd(other);
            }
            stop.on.countDown();
            first.join();
            for (Thread other : others) {
                other.join();
            }
            assertThat(missed).as("stopped before read %d", before).isEmpty();
        }
    }

    private static void look(LeaseHandle lease, List<String> missed) {
        if (lease.isValid()) {
            synchronized (missed) {
                missed.add(Thread.currentThread().getName());
            }
        }
    }

    /** If the suspension occurs during a comparison of the clocks, at any read, it is detected. */
    @Test
    void aSuspensionWhileTheClocksAreLookedAtIsNoticed() {
        for (int at = 1; at <= MAX_READS; at++) {
            StillRuntime still = new StillRuntime();
            LeaseHandle lease = lease(new Workshop(still, new SilentStore()));
            sleepAt(still, at);
            still.pass(Duration.ofMillis(1_500));
            still.beforeAClockIsRead(() -> {});
            boolean slept = still.wallMillis() > 1_700_000_000_000L + HOUR.toMillis();
            assertThat(slept && lease.isValid())
                    .as("before read %d of a tick", at)
                    .isFalse();
        }
    }

    @Test
    void aSuspensionWhileAHoldBeginsIsNoticed() {
        for (int at = 1; at <= MAX_READS; at++) {
            StillRuntime still = new StillRuntime();
            Workshop own = new Workshop(still, new SilentStore());
            HeldGrant keeper = own.keeper();
            long mark = own.context.suspensions().mark();
            sleepAt(still, at);
            LeaseHandle lease = keeper.begin(mark, null);
            still.beforeAClockIsRead(() -> {});
            boolean slept = still.wallMillis() > 1_700_000_000_000L + HOUR.toMillis();
            assertThat(slept && lease.isValid()).as("before read %d", at).isFalse();
        }
    }

    private static void sleepAt(StillRuntime still, int read) {
        AtomicInteger reads = new AtomicInteger();
        still.beforeAClockIsRead(() -> {
            if (reads.incrementAndGet() == read) {
                still.suspend(HOUR);
            }
        });
    }

    /** A thread that begins to watch slowly hides no suspension from the hold of another thread. */
    @Test
    void aSlowBeginningHidesNoSuspensionFromAnotherHold() throws Exception {
        for (int before = 1; before <= MAX_READS; before++) {
            StillRuntime still = new StillRuntime();
            Workshop own = new Workshop(still, new SilentStore());
            Thread slow = new Thread(() -> lease(own));
            Stop stop = new Stop(slow, before);
            still.beforeAClockIsRead(stop);
            slow.start();
            awaitStopOrEnd(stop, slow);
            LeaseHandle[] mine = new LeaseHandle[1];
            Thread quick = new Thread(() -> mine[0] = lease(own));
            quick.start();
            awaitBlockedOrEnd(quick);
            boolean begun = !quick.isAlive();
            still.suspend(HOUR);
            stop.on.countDown();
            slow.join();
            quick.join();
            assertThat(begun && mine[0].isValid())
                    .as("stopped before read %d", before)
                    .isFalse();
        }
    }

    /** The sum of slewing over a day is no suspension. */
    @Test
    void aSlewedClockIsNoSuspension() {
        LeaseHandle lease = shop.keeper().begin(shop.context.suspensions().mark(), null);
        for (int second = 0; second < 8; second++) {
            runtime.suspend(Duration.ofMillis(50));
            runtime.pass(Duration.ofSeconds(1));
            assertThat(lease.isValid()).as("after %d s", second + 1).isTrue();
        }
    }

    @Test
    void aDeadLeaseIsNotHandedToALocalWaiter() {
        AcquireAttempt waiter = shop.waiter();
        LeaseHandle lease = heldWithAWaiterBehind(waiter);
        runtime.suspend(HOUR);
        lease.release();
        assertThat(waiter.result()).as("asks the store in place of that").isNotDone();
        assertThat(store.releases()).hasSize(1);
    }

    private LeaseHandle heldWithAWaiterBehind(AcquireAttempt waiter) {
        HeldGrant keeper = shop.keeper();
        LeaseHandle lease = keeper.begin(shop.context.suspensions().mark(), null);
        shop.queues.enter(waiter);
        return lease;
    }

    /** The hand-over itself works, so the test above checks what it is meant to check. */
    @Test
    void aLiveLeaseIsHandedToALocalWaiter() {
        AcquireAttempt waiter = shop.waiter();
        LeaseHandle lease = heldWithAWaiterBehind(waiter);
        lease.release();
        assertThat(waiter.result()).isDone();
        assertThat(waiter.result().join().orElseThrow().isValid()).isTrue();
    }

    @Test
    void aRenewalByHandDoesNotCountOneThatLeftBeforeTheSuspension() {
        LeaseHandle lease = lease();
        runtime.pass(Duration.ofSeconds(11));
        assertThat(store.renewals()).hasSize(1);
        runtime.suspend(HOUR);
        var byHand = lease.renewAsync();
        answer(0);
        assertThat(byHand).as("that answer is an hour old").isNotDone();
        assertThat(lease.isValid()).isFalse();
        runtime.pass(Duration.ofSeconds(1));
        assertThat(store.renewals()).hasSize(2);
        answer(1);
        assertThat(byHand).isCompleted();
        assertThat(lease.isValid()).isTrue();
    }

    @Test
    void anAnswerThatComesFirstAfterASuspensionConfirmsNothing() {
        LeaseHandle lease = lease();
        runtime.pass(Duration.ofSeconds(11));
        var byHand = lease.renewAsync();
        runtime.suspend(HOUR);
        answer(0);
        assertThat(byHand).isNotDone();
        assertThat(lease.isValid()).isFalse();
        runtime.pass(Duration.ofSeconds(1));
        answer(1);
        assertThat(byHand).isCompleted();
        assertThat(lease.isValid()).isTrue();
    }

    private void answer(int renewal) {
        var asked = store.renewals().get(renewal);
        asked.answer()
                .complete(new io.leasehold.spi.RenewReply(asked.request().items().stream()
                        .<io.leasehold.spi.RenewReply.Item>map(
                                item -> new io.leasehold.spi.RenewReply.Renewed(runtime.nanoTime()))
                        .toList()));
    }

    private void fail(int renewal) {
        store.renewals().get(renewal).answer().completeExceptionally(new IllegalStateException("no answer"));
    }

    /** A lease that nothing renews is confirmed nevertheless, however often the confirmation fails at first. */
    @Test
    void aFixedTtlIsConfirmedAgainWhenTheFirstRenewalsFail() {
        Workshop fixed = new Workshop(
                runtime, store, LockOptions.defaults().ttl(Duration.ofHours(24)).renewal(Renewal.none()));
        LeaseHandle lease = lease(fixed);
        runtime.suspend(HOUR);
        assertThat(lease.isValid()).isFalse();
        for (int tries = 0; tries < 15; tries++) {
            runtime.pass(Duration.ofSeconds(10));
            assertThat(store.renewals()).as("tried again").hasSizeGreaterThan(tries);
            fail(tries);
        }
        runtime.pass(Duration.ofSeconds(10));
        answer(15);
        assertThat(lease.isValid()).isTrue();
        runtime.pass(Duration.ofMinutes(10));
        assertThat(store.renewals()).as("and no more after that").hasSize(16);
    }

    // ---- up to maxHold

    @Test
    void aFixedTtlThatIsItsMaxHoldIsConfirmedAfterEachSuspension() {
        LockOptions options = LockOptions.defaults()
                .ttl(Duration.ofMinutes(10))
                .maxHold(Duration.ofMinutes(10))
                .renewal(Renewal.none());
        LeaseHandle lease = lease(new Workshop(runtime, store, options));
        for (int times = 0; times < 3; times++) {
            runtime.pass(Duration.ofMinutes(1));
            runtime.suspend(Duration.ofSeconds(30));
            assertThat(lease.isValid()).isFalse();
            assertThat(store.renewals())
                    .as("asked after suspension %d", times + 1)
                    .hasSize(times + 1);
            answer(times);
            assertThat(lease.isValid()).isTrue();
        }
        runtime.pass(Duration.ofMinutes(7));
        assertThat(lease.isValid()).as("its cap stands").isFalse();
    }

    @Test
    void theTimerOfAConfirmationThatCameOtherwiseRenewsNothing() {
        Workshop fixed = new Workshop(
                runtime, store, LockOptions.defaults().ttl(Duration.ofHours(24)).renewal(Renewal.none()));
        LeaseHandle lease = lease(fixed);
        List<Duration> atRisk = new ArrayList<>();
        lease.onAtRisk(atRisk::add);
        runtime.suspend(HOUR);
        assertThat(lease.isValid()).isFalse();
        fail(0);
        var byHand = lease.renewAsync();
        answer(1);
        assertThat(byHand).isCompleted();
        runtime.pass(Duration.ofMinutes(1));
        assertThat(store.renewals()).as("no third was requested").hasSize(2);
        assertThat(atRisk).isEmpty();
        assertThat(lease.isValid()).isTrue();
    }
}
