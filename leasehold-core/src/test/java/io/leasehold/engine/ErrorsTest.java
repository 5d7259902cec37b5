package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.ReleaseOutcome;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** An Error, such as a failure to start a thread, affects only the step in which it occurs, and no later duty. */
@Tag("quick")
@Timeout(60)
final class ErrorsTest {

    private static Error noThread() {
        return new InternalError("no thread (made by the test)");
    }

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final Workshop shop = new Workshop(runtime, store);

    private LeaseHandle lease() {
        return shop.keeper().begin(shop.context.suspensions().mark(), null);
    }

    private List<LeaseHandle> leases(int count) {
        List<LeaseHandle> leases = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            leases.add(lease());
        }
        return leases;
    }

    private void grant(SilentStore.Asked<AcquireRequest, AcquireReply> asked) {
        asked.answer()
                .complete(new AcquireReply.Granted(
                        new Grant(
                                asked.request().owner(), TokenRange.of(1, 1), runtime.nanoTime(), Incarnation.DURABLE),
                        List.of()));
    }

    /** Answers the renewals that have no answer yet. */
    private int answerRenewals(boolean renewed) {
        int items = 0;
        for (var asked : store.renewals()) {
            if (!asked.answer().isDone()) {
                items += asked.request().items().size();
                RenewReply.Item one = renewed
                        ? new RenewReply.Renewed(runtime.nanoTime())
                        : new RenewReply.Failed(new io.leasehold.StoreUnavailableException("no", null));
                asked.answer()
                        .complete(new RenewReply(asked.request().items().stream()
                                .map(item -> one)
                                .toList()));
            }
        }
        return items;
    }

    @Test
    void anAttemptThatAnErrorMeetsIsTriedAgainAndNobodyWaitsBehindIt() {
        store.failNext(noThread());
        AcquireAttempt first = shop.waiter();
        AcquireAttempt second = shop.waiter();
        shop.queues.enter(first);
        shop.queues.enter(second);
        for (int i = 0; i < 20 && store.acquires().isEmpty(); i++) {
            runtime.pass(Duration.ofSeconds(1));
        }
        grant(store.acquires().get(0));
        Lease lease = first.result().join().orElseThrow();
        lease.release();
        runtime.pass(Duration.ofSeconds(1));
        assertThat(store.acquires()).hasSize(2);
        grant(store.acquires().get(1));
        assertThat(second.result().join().orElseThrow().isValid()).isTrue();
    }

    @Test
    void aBatchOfRenewalsThatAnErrorMeetsIsTriedAgain() {
        List<LeaseHandle> leases = leases(3);
        store.failNext(noThread());
        runtime.pass(Duration.ofSeconds(11));
        runtime.pass(Duration.ofSeconds(5));
        assertThat(answerRenewals(true)).isEqualTo(3);
        runtime.pass(Duration.ofSeconds(20));
        assertThat(leases).allMatch(LeaseHandle::isValid);
    }

    @Test
    void aLeaseWhoseRenewalAnErrorMetIsReleased() {
        LeaseHandle lease = lease();
        store.failNext(noThread());
        CompletableFuture<Void> byHand = lease.renewAsync();
        assertThat(byHand).isCompletedExceptionally();
        assertThat(lease.releaseAsync()).isCompletedWithValue(ReleaseOutcome.RELEASED);
    }

    @Test
    void aReleaseThatAnErrorMeetsIsRepeated() {
        LeaseHandle lease = lease();
        store.failNext(noThread());
        assertThat(lease.releaseAsync()).isCompletedWithValue(ReleaseOutcome.UNCONFIRMED);
        assertThat(store.releases()).isEmpty();
        runtime.pass(Duration.ofSeconds(1));
        assertThat(store.releases()).hasSize(1);
    }

    /** No thread is available for the first callback; the leases of the batch are renewed again nevertheless. */
    @Test
    void noThreadForACallbackCostsNoRenewal() {
        List<LeaseHandle> leases = leases(4);
        AtomicInteger told = new AtomicInteger();
        leases.forEach(lease -> lease.onAtRisk(left -> told.incrementAndGet()));
        for (int tries = 0; tries < 40 && told.get() == 0; tries++) {
            runtime.pass(Duration.ofMillis(500));
            if (store.renewals().stream().anyMatch(asked -> !asked.answer().isDone())) {
                runtime.failToStart(1);
                answerRenewals(false);
                runtime.failToStart(0);
            }
        }
        assertThat(told).as("also the one whose thread could not be started").hasValue(4);
        runtime.pass(Duration.ofSeconds(4));
        assertThat(answerRenewals(true)).isEqualTo(4);
        assertThat(leases).allMatch(LeaseHandle::isValid);
    }

    /** A task is performed at its time, although its timer could not be armed at first. */
    @Test
    void aTimerThatCouldNotBeArmedCostsNoDuty() {
        runtime.failToStart(1);
        LeaseHandle lease = lease();
        runtime.failToStart(0);
        lease();
        runtime.pass(Duration.ofSeconds(11));
        assertThat(answerRenewals(true)).isEqualTo(2);
        assertThat(lease.isValid()).isTrue();
    }

    @Test
    void aTimelineWhoseTimerFailsWhileItFiresGoesOn() {
        List<String> fired = new ArrayList<>();
        TimerQueue timeline = new TimerQueue(runtime);
        timeline.schedule(1_000_000, () -> fired.add("first"));
        timeline.schedule(2_000_000, () -> fired.add("second"));
        runtime.failToStart(1);
        runtime.pass(Duration.ofMillis(1));
        runtime.failToStart(0);
        assertThat(fired).containsExactly("first");
        timeline.schedule(5_000_000, () -> fired.add("third"));
        runtime.pass(Duration.ofMillis(10));
        assertThat(fired).containsExactly("first", "second", "third");
    }

    /** Whichever read of a clock fails in a tick, the next suspension is noticed, and no renewal is lost. */
    @Test
    void anErrorInATickEndsNoWatching() {
        anErrorInATickEndsNoWatching(true);
    }

    /** As does one that is held alone: no other hold begins the ticks again. */
    @Test
    void anErrorInATickEndsNoWatchingOfALeaseThatIsHeldAlone() {
        anErrorInATickEndsNoWatching(false);
    }

    private static void anErrorInATickEndsNoWatching(boolean anotherFollows) {
        for (int at = 1; at <= 30; at++) {
            StillRuntime still = new StillRuntime();
            SilentStore silent = new SilentStore();
            Workshop own = new Workshop(still, silent);
            LeaseHandle lease = own.keeper().begin(own.context.suspensions().mark(), null);
            AtomicInteger reads = new AtomicInteger();
            int fatal = at;
            still.beforeAClockIsRead(() -> {
                if (reads.incrementAndGet() == fatal) {
                    throw new InternalError("made by the test");
                }
            });
            for (int half = 0; half < 4; half++) {
                try {
                    still.pass(Duration.ofMillis(500));
                } catch (InternalError e) {
                    assertThat(e).hasMessage("made by the test");
                }
            }
            still.beforeAClockIsRead(() -> {});
            if (anotherFollows) {
                own.keeper().begin(own.context.suspensions().mark(), null);
            }
            still.suspend(Duration.ofHours(1));
            still.pass(Duration.ofSeconds(2));
            assertThat(silent.renewals())
                    .as("noticed after an error at read %d", at)
                    .isNotEmpty();
            assertThat(lease.isValid()).isFalse();
        }
    }

    private static void failAtRead(StillRuntime still, int fatal) {
        AtomicInteger reads = new AtomicInteger();
        still.beforeAClockIsRead(() -> {
            if (reads.incrementAndGet() == fatal) {
                throw new InternalError("made by the test");
            }
        });
    }

    /** Whichever read of a clock fails while an answer is processed, the lease is renewed again. */
    @Test
    void anErrorWhileAnAnswerIsTakenInCostsNoRenewal() {
        for (int at = 1; at <= 30; at++) {
            StillRuntime still = new StillRuntime();
            SilentStore silent = new SilentStore();
            Workshop own = new Workshop(still, silent);
            LeaseHandle lease = own.keeper().begin(own.context.suspensions().mark(), null);
            CompletableFuture<Void> byHand = lease.renewAsync();
            failAtRead(still, at);
            renewed(silent, 0, 1_000_000_000L);
            still.beforeAClockIsRead(() -> {});
            assertThat(byHand).as("read %d", at).isDone();
            still.pass(Duration.ofSeconds(12));
            assertThat(silent.renewals()).as("read %d", at).hasSizeGreaterThan(1);
            assertThat(lease.isValid()).isTrue();
        }
    }

    /** Whichever read of a clock fails while a renewal is sent, its lease is released, before the answer or after it. */
    @Test
    @SuppressWarnings("FutureReturnValueIgnored")
    void anErrorWhileARenewalIsSentKeepsNoLeaseFromItsRelease() {
        for (int at = 1; at <= 30; at++) {
            for (boolean isAnsweredFirst : new boolean[] {true, false}) {
                StillRuntime still = new StillRuntime();
                SilentStore silent = new SilentStore();
                Workshop own = new Workshop(still, silent);
                LeaseHandle lease = own.keeper().begin(own.context.suspensions().mark(), null);
                failAtRead(still, at);
                try {
                    lease.renewAsync();
                } catch (InternalError e) {
                    assertThat(e).hasMessage("made by the test");
                }
                still.beforeAClockIsRead(() -> {});
                CompletableFuture<ReleaseOutcome> released = isAnsweredFirst ? null : lease.releaseAsync();
                if (!silent.renewals().isEmpty()) {
                    renewed(silent, 0, 1_000_000_000L);
                }
                assertThat(isAnsweredFirst ? lease.releaseAsync() : released)
                        .as("read %d, answered first %s", at, isAnsweredFirst)
                        .isCompletedWithValue(ReleaseOutcome.RELEASED);
                assertThat(silent.releases()).as("read %d", at).hasSize(1);
            }
        }
    }

    private static void renewed(SilentStore silent, int index, long sentAtNanos) {
        silent.renewals().get(index).answer().complete(new RenewReply(List.of(new RenewReply.Renewed(sentAtNanos))));
    }

    /**
     * Whichever read of a clock fails while a lease is passed on, the next attempt in the queue receives it, or it is
     * released.
     */
    @Test
    void aLeaseThatAnErrorKeepsFromBeingPassedOnIsReleased() {
        for (int at = 1; at <= 30; at++) {
            StillRuntime still = new StillRuntime();
            SilentStore silent = new SilentStore();
            Workshop own = new Workshop(still, silent);
            HeldGrant keeper = own.keeper();
            LeaseHandle lease = keeper.begin(own.context.suspensions().mark(), null);
            AcquireAttempt waiter = own.waiter();
            own.queues.enter(waiter);
            failAtRead(still, at);
            CompletableFuture<ReleaseOutcome> released = lease.releaseAsync();
            still.beforeAClockIsRead(() -> {});
            assertThat(released).as("read %d", at).isDone();
            assertThat(waiter.result().isDone() || !silent.releases().isEmpty())
                    .as("read %d", at)
                    .isTrue();
        }
    }
}
