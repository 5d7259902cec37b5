package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The actions of each shell of the engine for one decision, one step at a time. Time does not pass by itself. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
@Timeout(60)
final class ShellStepsTest {

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final Workshop shop = new Workshop(runtime, store);
    private final List<String> news = new ArrayList<>();

    private final LockListener listener = new LockListener() {
        @Override
        public void attemptBegan(AttemptBegan event) {
            news.add("began");
        }

        @Override
        public void attemptEnded(AttemptEnded event) {
            news.add(event.outcome() + " after " + event.waited().toSeconds());
        }

        @Override
        public void atRisk(AtRisk event) {
            news.add("at risk");
        }

        @Override
        public void lost(Lost event) {
            news.add("lost " + event.cause() + " after " + event.held().toSeconds());
        }

        @Override
        public void released(Released event) {
            news.add(event.outcome() + " after " + event.held().toSeconds());
        }

        @Override
        public void abandoned(Abandoned event) {
            news.add("abandoned " + event.cause());
        }
    };

    private LockClient client() {
        return Leasehold.builder()
                .store(store)
                .runtime(runtime)
                .listener(listener)
                .connect();
    }

    private void grant(int asked, long first, long count) {
        SilentStore.Asked<io.leasehold.spi.AcquireRequest, AcquireReply> one =
                store.acquires().get(asked);
        one.answer()
                .complete(new AcquireReply.Granted(
                        new Grant(
                                one.request().owner(),
                                TokenRange.of(first, (int) count),
                                runtime.nanoTime(),
                                Incarnation.DURABLE),
                        List.of()));
    }

    private void busy(int asked) {
        store.acquires().get(asked).answer().complete(new AcquireReply.Busy(null, 0, List.of()));
    }

    // ---- notifications of listeners

    @Test
    void eachOutcomeOfAnAttemptIsToldOnceWithItsTime() {
        LockClient client = client();
        CompletableFuture<?> atOnce = client.named("a").attemptAsync(Duration.ZERO);
        busy(0);
        assertThat(atOnce).isCompleted();
        assertThat(news).containsExactly("began", "BUSY after 0");
        news.clear();
        CompletableFuture<?> patient = client.named("a").attemptAsync(Duration.ofSeconds(5));
        runtime.pass(Duration.ofSeconds(2));
        busy(1);
        runtime.pass(Duration.ofSeconds(4));
        for (int i = 2; i < store.acquires().size(); i++) {
            busy(i);
        }
        assertThat(patient).isCompleted();
        assertThat(news.get(0)).isEqualTo("began");
        assertThat(news.get(1)).startsWith("TIMEOUT after ");
        assertThat(news).hasSize(2);
        news.clear();
        CompletableFuture<Lease> left = client.named("b").acquireAsync();
        left.cancel(false);
        assertThat(news).containsExactly("began", "INTERRUPTED after 0");
        news.clear();
        CompletableFuture<?> failed = client.named("c").attemptAsync(Duration.ZERO);
        store.acquires()
                .get(store.acquires().size() - 1)
                .answer()
                .complete(new AcquireReply.Failed(FailureKind.PERMANENT, new StoreUnavailableException("no", null), 0));
        assertThat(failed).isCompletedExceptionally();
        assertThat(news).containsExactly("began", "ERROR after 0");
    }

    @Test
    void eachEndOfALeaseIsToldOnceWithItsTime() {
        LockClient client = client();
        CompletableFuture<Lease> one = client.named("a").acquireAsync();
        grant(0, 7, 1);
        assertThat(news).containsExactly("began", "ACQUIRED after 0");
        news.clear();
        runtime.pass(Duration.ofSeconds(3));
        one.join().releaseAsync();
        one.join().releaseAsync();
        assertThat(news).containsExactly("RELEASED after 3");
        news.clear();
        Lease other = second(client);
        news.clear();
        runtime.pass(Duration.ofSeconds(2));
        store.ear().lost(owner(1), LossCause.SESSION_LOST);
        store.ear().lost(owner(1), LossCause.NOT_OURS);
        assertThat(other.releaseAsync()).isCompletedWithValue(ReleaseOutcome.ALREADY_LOST);
        assertThat(news).containsExactly("lost SESSION_LOST after 2");
        assertThat(other.whenEnded().toCompletableFuture().join())
                .isEqualTo(new HoldEnd.Lost(LossCause.SESSION_LOST, List.of()));
    }

    private Lease second(LockClient client) {
        CompletableFuture<Lease> wanted = client.named("b").acquireAsync();
        grant(1, 9, 1);
        return wanted.join();
    }

    private OwnerToken owner(int asked) {
        return store.acquires().get(asked).request().owner();
    }

    @Test
    void aLeaseThatIsAtRiskIsToldOfOnce() {
        LockClient client = client();
        CompletableFuture<Lease> wanted = client.named("a").acquireAsync();
        grant(0, 7, 1);
        List<Duration> told = new ArrayList<>();
        wanted.join().onAtRisk(told::add);
        news.clear();
        store.ear().suspended(owner(0));
        store.ear().suspended(owner(0));
        assertThat(news).containsExactly("at risk");
        assertThat(told).hasSize(1);
    }

    @Test
    void aLeaseThatIsHandedOverIsToldAsAnAttemptThatWon() {
        LockClient client = client();
        CompletableFuture<Lease> first = client.named("a").acquireAsync();
        CompletableFuture<Lease> second = client.named("a").acquireAsync();
        grant(0, 100, 64);
        news.clear();
        first.join().releaseAsync();
        assertThat(second.join().fencingToken()).isEqualTo(101);
        assertThat(news).containsExactlyInAnyOrder("ACQUIRED after 0", "RELEASED after 0");
        assertThat(store.releases()).isEmpty();
    }

    // ---- the queue

    /**
     * An attempt with others behind it in the queue reserves tokens for them; an attempt that is alone reserves one.
     */
    @Test
    void asManyTokensAreReservedAsMayBeHandedOver() {
        LockClient client = client();
        client.named("a").acquireAsync();
        client.named("a").acquireAsync();
        assertThat(store.acquires()).hasSize(1);
        assertThat(store.acquires().get(0).request().reserve()).isEqualTo(1);
        busy(0);
        runtime.pass(Duration.ofSeconds(10));
        assertThat(store.acquires()).hasSizeGreaterThan(1);
        assertThat(store.acquires().get(1).request().reserve()).isEqualTo(Timings.MAX_LEASES);
    }

    @Test
    void theTokenThatWasSeenLastIsToldToTheStore() {
        LockClient client = client();
        CompletableFuture<Lease> first = client.named("a").acquireAsync();
        CompletableFuture<Lease> second = client.named("a").acquireAsync();
        grant(0, 100, 1);
        first.join().releaseAsync();
        runtime.pass(Duration.ofSeconds(1));
        assertThat(store.acquires()).hasSize(2);
        assertThat(store.acquires().get(1).request().seenToken()).isEqualTo(100);
        second.cancel(false);
    }

    @Test
    void aWakeUpMakesTheFirstInLineAskAtOnce() {
        LockClient client = client();
        client.named("a").acquireAsync();
        store.acquires().get(0).answer().complete(new AcquireReply.Queued(null, 0, List.of()));
        assertThat(store.acquires()).hasSize(1);
        store.ear().wake(store.acquires().get(0).request().names().get(0));
        assertThat(store.acquires()).hasSize(2);
        store.acquires().get(1).answer().complete(new AcquireReply.Queued(null, 0, List.of()));
        store.ear().reconnected();
        assertThat(store.acquires()).as("also after a reconnection").hasSize(3);
    }

    @Test
    void nothingIsLeftOfAWaiterWhoseTimeIsOver() {
        AcquireAttempt waiter = shop.waiter(Duration.ofSeconds(1).toNanos());
        shop.queues.enter(waiter);
        busy(0);
        for (int i = 1; i < 40 && !waiter.result().isDone(); i++) {
            runtime.pass(Duration.ofMillis(100));
            store.acquires().forEach(asked -> asked.answer().complete(new AcquireReply.Busy(null, 0, List.of())));
        }
        assertThat(waiter.result()).isCompleted();
        assertThat(shop.queues.isEmpty()).isTrue();
        assertThat(shop.timeline.size()).isZero();
    }

    @Test
    void aHandOverLeavesNoTimerOfTheWaiter() {
        LeaseHandle lease = shop.keeper().begin(shop.context.suspensions().mark(), null);
        int before = shop.timeline.size();
        AcquireAttempt waiter = shop.waiter(Duration.ofSeconds(50).toNanos());
        shop.queues.enter(waiter);
        lease.state().release();
        assertThat(waiter.result()).isCompleted();
        assertThat(shop.timeline.size()).as("but the end of the hand-over").isEqualTo(before + 1);
    }

    @Test
    void behindAnotherOneWithoutPatienceIsToldAtOnceAndAsksNobody() {
        shop.queues.enter(shop.waiter());
        AcquireAttempt impatient = shop.waiter(0);
        shop.queues.enter(impatient);
        assertThat(impatient.result()).isCompleted();
        assertThat(impatient.result().join().orElseNull()).isNull();
        assertThat(store.acquires()).hasSize(1);
    }

    @Test
    void oneThatWasHandedTheLockHasLeftTheLine() {
        LeaseHandle lease = shop.keeper().begin(shop.context.suspensions().mark(), null);
        shop.queues.enter(shop.waiter());
        lease.state().release();
        assertThat(shop.queues.first(Workshop.NAME)).isNull();
    }

    @Test
    void aClosedClientIsAnotherReasonThanAWithdrawal() {
        AcquireAttempt withdrawn = shop.waiter();
        AcquireAttempt closed = shop.waiter();
        withdrawn.giveUp();
        closed.clientClosing();
        assertThat(withdrawn.result()).isCancelled();
        assertThat(closed.result()).isCompletedExceptionally();
        assertThat(closed.result().handle((attempt, error) -> error).join())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
    }

    @Test
    void anAttemptOfWhichNothingIsKnownIsToldAsAmbiguous() {
        client().named("a").attemptAsync(Duration.ZERO);
        store.acquires().get(0).answer().completeExceptionally(new IllegalStateException("made by the test"));
        assertThat(news).containsExactly("began", "AMBIGUOUS after 0");
    }

    /** A renewal that is missing in the store's answer has failed; the others have not. */
    @Test
    void anAnswerThatIsTooShortFailsTheRenewalsItDoesNotName() {
        LeaseHandle first = shop.keeper().begin(shop.context.suspensions().mark(), null);
        LeaseHandle second = shop.keeper().begin(shop.context.suspensions().mark(), null);
        shop.context.renewals().renew(((HeldGrant) first.state().owner()).renewals(), 1_000_000);
        CompletableFuture<Void> byHand = second.renewAsync();
        assertThat(store.renewals()).hasSize(1);
        assertThat(store.renewals().get(0).request().items()).hasSize(2);
        store.renewals().get(0).answer().complete(new RenewReply(List.of(new RenewReply.Renewed(runtime.nanoTime()))));
        assertThat(byHand.handle((nothing, error) -> error).join())
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("no answer for it");
    }

    // ---- the end

    /** A release that fails is repeated, after pauses that double, until everything that it could end has expired. */
    @Test
    void aReleaseIsRepeatedAtPausesThatDoubleUntilItsTimeIsOver() {
        List<Long> sent = new ArrayList<>();
        ReleaseRetrier retrier = new ReleaseRetrier(runtime, new TimerQueue(runtime), failing(sent));
        ReleaseRetrier.Progress progress = end(retrier, Duration.ofSeconds(4));
        assertThat(progress.firstReply()).isCompleted();
        assertThat(retrier.isIdle()).isFalse();
        runtime.pass(Duration.ofSeconds(10));
        assertThat(progress.over()).isCompleted();
        assertThat(retrier.isIdle()).isTrue();
        // At 0, 50, 150, 350, 750, 1550, 2550, 3550 ms, and at its end.
        assertThat(sent).containsExactly(0L, 50L, 150L, 350L, 750L, 1550L, 2550L, 3550L, 4000L);
    }

    @Test
    void aReconnectionRepeatsAtOnceWhatIsUnanswered() {
        List<Long> sent = new ArrayList<>();
        ReleaseRetrier retrier = new ReleaseRetrier(runtime, new TimerQueue(runtime), failing(sent));
        assertThat(end(retrier, Duration.ofSeconds(60)).over()).isNotDone();
        runtime.pass(Duration.ofMillis(800));
        assertThat(sent).hasSize(5);
        retrier.reconnected();
        assertThat(sent).hasSize(6);
        runtime.pass(Duration.ofMillis(900));
        assertThat(sent).as("not by the timer that was armed before, too").hasSize(6);
        runtime.pass(Duration.ofMillis(100));
        assertThat(sent).hasSize(7);
    }

    private static ReleaseRetrier.Progress end(ReleaseRetrier retrier, Duration atMost) {
        long nanos = atMost.toNanos();
        Timings timings = new Timings(nanos, nanos, nanos, 0, 0, 1, nanos, nanos, 1_000_000, false);
        return retrier.end(
                List.of(Workshop.NAME), OwnerToken.fromHex("a".repeat(40)), 0, ReleaseRequest.Kind.UNDO, timings);
    }

    private io.leasehold.spi.LockStore failing(List<Long> sent) {
        long beganAtNanos = runtime.nanoTime();
        return (io.leasehold.spi.LockStore) Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {io.leasehold.spi.LockStore.class},
                (proxy, method, arguments) -> {
                    if (!method.getName().equals("release")) {
                        return method.invoke(store, arguments);
                    }
                    sent.add((runtime.nanoTime() - beganAtNanos) / 1_000_000);
                    return CompletableFuture.completedFuture(
                            new ReleaseReply.Failed(FailureKind.UNKNOWN, new StoreUnavailableException("no", null)));
                });
    }

    // ---- renewals

    /** Renewals that are due at about the same time wait for each other. A renewal by hand sends them, too. */
    @Test
    void aRenewalByHandTakesThoseThatWaitWithIt() {
        RenewalBatcher loop = shop.context.renewals();
        HeldGrant first = shop.keeper();
        HeldGrant second = shop.keeper();
        HeldGrant third = shop.keeper();
        loop.renew(first.renewals(), Duration.ofMillis(50).toNanos());
        runtime.pass(Duration.ofMillis(20));
        loop.renew(second.renewals(), Duration.ofMillis(50).toNanos());
        assertThat(store.renewals()).isEmpty();
        runtime.pass(Duration.ofMillis(29));
        assertThat(store.renewals()).isEmpty();
        runtime.pass(Duration.ofMillis(1));
        assertThat(store.renewals()).hasSize(1);
        assertThat(store.renewals().get(0).request().items()).hasSize(2);
        loop.renew(first.renewals(), Duration.ofMillis(50).toNanos());
        loop.renew(second.renewals(), Duration.ofMillis(10).toNanos());
        runtime.pass(Duration.ofMillis(10));
        assertThat(store.renewals()).as("the sooner of two").hasSize(2);
        assertThat(store.renewals().get(1).request().items()).hasSize(2);
        loop.renew(first.renewals(), Duration.ofMillis(50).toNanos());
        loop.renew(third.renewals(), 0);
        assertThat(store.renewals()).hasSize(3);
        assertThat(store.renewals().get(2).request().items()).hasSize(2);
        runtime.pass(Duration.ofSeconds(1));
        assertThat(store.renewals()).hasSize(3);
        assertThat(shop.timeline.size()).isZero();
    }

    // ---- suspensions

    @Test
    void aTenthOfASecondIsNoSuspensionAndMoreIsOne() {
        SuspendWatch watch = shop.context.suspensions();
        shop.keeper().begin(watch.mark(), null);
        long mark = watch.mark();
        runtime.suspend(Duration.ofMillis(100));
        watch.check();
        assertThat(watch.wasSuspendedSince(mark)).isFalse();
        assertThat(watch.suspensions()).isZero();
        runtime.suspend(Duration.ofMillis(1));
        watch.check();
        assertThat(watch.wasSuspendedSince(mark)).isTrue();
        assertThat(watch.suspensions()).isEqualTo(1);
        watch.check();
        assertThat(watch.suspensions()).as("once").isEqualTo(1);
    }

    /** A backward step is no suspension, and moves the baseline of the comparison. */
    @Test
    void aStepBackHidesNoSuspensionAfterIt() {
        SuspendWatch watch = shop.context.suspensions();
        shop.keeper().begin(watch.mark(), null);
        runtime.suspend(Duration.ofSeconds(-10));
        watch.check();
        assertThat(watch.suspensions()).isZero();
        runtime.suspend(Duration.ofMillis(200));
        watch.check();
        assertThat(watch.suspensions()).isEqualTo(1);
    }
}
