package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Attempt;
import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.MultiLease;
import io.leasehold.NodeVote;
import io.leasehold.ReentrantLockView;
import io.leasehold.ReleaseOutcome;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Events that occur for the second time, or late: they are neither lost nor mistaken for the first. */
@SuppressWarnings({"FutureReturnValueIgnored", "LockNotBeforeTry"})
@Tag("quick")
@Timeout(60)
final class SecondTimesTest {

    private static final LockName NAME = LockName.exactly("a");

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final Workshop shop = new Workshop(runtime, store);
    private final List<String> news = new ArrayList<>();
    private Runnable closing = () -> {};

    private final LockListener listener = new LockListener() {
        @Override
        public void abandoned(Abandoned event) {
            news.add("abandoned " + event.cause());
        }

        @Override
        public void lost(Lost event) {
            news.add("lost " + event.name());
            closing.run();
        }

        @Override
        public void renewed(Renewed event) {
            if (event.outcome() == RenewalOutcome.RENEWED && event.name().text().equals("a")) {
                news.add("renewed of " + event.ttl());
            }
        }

        @Override
        public void released(Released event) {
            news.add(event.outcome().name());
        }
    };

    private LockClient client(UnaryOperator<LockOptions> change) {
        return Leasehold.builder()
                .store(store)
                .runtime(runtime)
                .listener(listener)
                .defaults(change.apply(LockOptions.defaults().ttl(Duration.ofSeconds(30))))
                .connect();
    }

    private SilentStore.Asked<AcquireRequest, AcquireReply> last() {
        return store.acquires().get(store.acquires().size() - 1);
    }

    private AcquireReply granted(AcquireRequest request, long sentAtNanos) {
        return new AcquireReply.Granted(
                new Grant(request.owner(), TokenRange.of(100, 64), sentAtNanos, Incarnation.DURABLE), List.of());
    }

    private void grantedAfter(Duration onTheWay) {
        last().answer().complete(granted(last().request(), runtime.nanoTime() - onTheWay.toNanos()));
    }

    private Lease held(LockClient client) {
        CompletableFuture<Lease> wanted = client.named(NAME).acquireAsync();
        grantedAfter(Duration.ZERO);
        return wanted.join();
    }

    private void answerTheRenewal(RenewReply.Item item) {
        store.renewals().get(store.renewals().size() - 1).answer().complete(new RenewReply(List.of(item)));
    }

    private void renewAll() {
        for (var asked : store.renewals()) {
            asked.answer().complete(new RenewReply(List.of(new RenewReply.Renewed(runtime.nanoTime()))));
        }
    }

    // ---- an attempt

    /** The owner token was ended before the failure: a later request must not use it. */
    @Test
    void anOwnerTokenThatCouldNotBeDrawnIsDrawnAtTheNextRequest() {
        AcquireAttempt attempt = shop.waiter();
        shop.queues.enter(attempt);
        AcquireRequest first = last().request();
        runtime.failToDraw(1);
        grantedAfter(Duration.ofSeconds(29));
        assertThat(store.releases()).as("the undo of what came too late").hasSize(1);
        runtime.pass(Duration.ofSeconds(5));
        assertThat(store.acquires()).hasSizeGreaterThan(1);
        assertThat(last().request().owner()).isNotEqualTo(first.owner());
    }

    @Test
    void whoWithdrawsWaitsForEachUndoAndNotForTheLastAlone() {
        CompletableFuture<ReleaseReply> toTheFirst = new CompletableFuture<>();
        store.answersReleasesWith(toTheFirst);
        AcquireAttempt attempt = shop.waiter();
        shop.queues.enter(attempt);
        grantedAfter(Duration.ofSeconds(29));
        assertThat(store.releases()).hasSize(1);
        CompletableFuture<ReleaseReply> toTheSecond = new CompletableFuture<>();
        store.answersReleasesWith(toTheSecond);
        runtime.pass(Duration.ofSeconds(5));
        last().answer().complete(new AcquireReply.Queued(null, 1, List.of()));
        CompletableFuture<?> left = attempt.giveUp();
        assertThat(store.releases()).hasSize(2);
        toTheSecond.complete(new ReleaseReply.Released());
        assertThat(left).as("the first is not answered").isNotDone();
        toTheFirst.complete(new ReleaseReply.Released());
        assertThat(left).isDone();
    }

    // ---- a grant

    /** A suspension during another hold does not affect a grant that was requested after it. */
    @Test
    void aGrantAfterASuspensionIsNotInDoubtForIt() {
        LockClient client = client(o -> o);
        Lease before = held(client);
        runtime.suspend(Duration.ofHours(1));
        assertThat(before.isValid()).isFalse();
        int renewals = store.renewals().size();
        CompletableFuture<Lease> wanted = client.named(LockName.exactly("b")).acquireAsync();
        grantedAfter(Duration.ZERO);
        assertThat(wanted.join().isValid()).isTrue();
        assertThat(store.renewals()).hasSize(renewals);
    }

    /** While nothing is held, the clocks are not compared; the next hold starts a new comparison. */
    @Test
    void aSuspensionBetweenTwoHoldsIsNoneOfTheSecond() {
        LockClient client = client(o -> o);
        held(client).releaseAsync();
        runtime.pass(Duration.ofSeconds(3));
        runtime.suspend(Duration.ofHours(1));
        Lease second = held(client);
        assertThat(second.isValid()).isTrue();
        assertThat(store.renewals()).isEmpty();
    }

    /** This also applies to a thread that holds the lock already: its interrupt flag ends the call. */
    @Test
    void aThreadThatIsInterruptedReentersNothing() throws InterruptedException {
        LockClient client = client(o -> o);
        store.answersAtOnce(request -> granted(request, runtime.nanoTime()));
        ReentrantLockView view = client.named(NAME).asReentrantLock();
        view.lock();
        Thread.currentThread().interrupt();
        assertThatThrownBy(view::lockInterruptibly).isInstanceOf(InterruptedException.class);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> view.tryLock(1, TimeUnit.SECONDS)).isInstanceOf(InterruptedException.class);
        assertThat(view.getHoldCount()).isOne();
        assertThat(Thread.interrupted()).isFalse();
    }

    /** The thread has released the lock, and may die: no thread is needed to keep it. */
    @Test
    void whatIsKeptIsKeptThoughTheThreadThatGaveItBackHasDied() throws InterruptedException {
        LockClient client = client(o -> o.atLeast(Duration.ofSeconds(60)));
        store.answersAtOnce(request -> granted(request, runtime.nanoTime()));
        Thread holder = new Thread(() -> {
            ReentrantLockView view = client.named(NAME).asReentrantLock();
            view.lock();
            view.unlock();
        });
        holder.start();
        holder.join();
        assertThat(news).containsExactly("KEPT");
        for (int i = 0; i < 5; i++) {
            runtime.pass(Duration.ofSeconds(11));
            renewAll();
        }
        assertThat(store.releases()).isEmpty();
        runtime.pass(Duration.ofSeconds(5));
        assertThat(store.releases()).as("after the whole time").hasSize(1);
        assertThat(news).contains("KEPT").doesNotContain("abandoned THREAD_DIED");
    }

    /** The next holder may be a different thread; the death of the first thread does not matter. */
    @Test
    void whatIsPassedOnIsKeptThoughTheThreadThatHadItHasDied() throws InterruptedException {
        LockClient client = client(o -> o);
        store.answersAtOnce(request -> granted(request, runtime.nanoTime()));
        CompletableFuture<Lease> next = new CompletableFuture<>();
        Thread first = new Thread(() -> {
            ReentrantLockView view = client.named(NAME).asReentrantLock();
            view.lock();
            client.named(NAME).acquireAsync().thenAccept(next::complete);
            view.unlock();
        });
        first.start();
        first.join();
        assertThat(next).as("handed over").isCompleted();
        for (int i = 0; i < 5; i++) {
            runtime.pass(Duration.ofSeconds(11));
            renewAll();
        }
        assertThat(next.join().isValid()).isTrue();
        assertThat(news).contains("RELEASED").doesNotContain("abandoned THREAD_DIED");
    }

    /** The options for the store apply to every renewal as to the request; listeners receive only the ttl. */
    @Test
    void aRenewalUsesTheOptionsOfItsLock() {
        held(client(o -> o.nodeTimeout(Duration.ofMillis(77)).lockDelay(Duration.ofSeconds(10))))
                .renewAsync();
        assertThat(store.renewals().get(0).request().items()).singleElement().satisfies(item -> {
            assertThat(item.nodeTimeoutNanos()).isEqualTo(Duration.ofMillis(77).toNanos());
            assertThat(item.ttlNanos()).isEqualTo(Duration.ofSeconds(40).toNanos());
        });
        answerTheRenewal(new RenewReply.Renewed(runtime.nanoTime()));
        assertThat(news).containsExactly("renewed of PT30S");
    }

    /** Operators read in the record how often the store has extended the grant. */
    @Test
    void onlyWhatTheStoreHasExtendedCountsAsARenewal() {
        HeldGrant keeper = shop.keeper();
        keeper.begin(shop.context.suspensions().mark(), null);
        keeper.renewByHand();
        answerTheRenewal(new RenewReply.Failed(new StoreUnavailableException("away", null)));
        assertThat(keeper.asClientHolds().get(0).renewals()).isZero();
        keeper.renewByHand();
        answerTheRenewal(new RenewReply.Renewed(runtime.nanoTime()));
        keeper.renewByHand();
        answerTheRenewal(new RenewReply.NotOurs());
        assertThat(keeper.asClientHolds().get(0).renewals()).isOne();
    }

    @Test
    void theHolderThatIsNamedHasTheTokenOfTheLastHandOver() {
        LockClient client = client(o -> o);
        Lease first = held(client);
        CompletableFuture<Lease> second = client.named(NAME).acquireAsync();
        first.releaseAsync();
        assertThat(second.join().fencingToken()).isEqualTo(101);
        CompletableFuture<Attempt<Lease>> third = client.named(NAME).attemptAsync(Duration.ZERO);
        assertThat(((Attempt.Busy<Lease>) third.join()).holder().fencingToken()).hasValue(101);
    }

    // ---- several

    @Test
    void whenTheStoreIsBackEveryUnansweredReleaseIsRepeated() {
        LockClient client = client(o -> o);
        Lease one = held(client);
        CompletableFuture<Lease> other = client.named("b").acquireAsync();
        grantedAfter(Duration.ZERO);
        store.answersReleases(
                new ReleaseReply.Failed(FailureKind.UNKNOWN, new StoreUnavailableException("made by the test", null)));
        one.releaseAsync();
        other.join().releaseAsync();
        store.ear().reconnected();
        assertThat(store.releases()).hasSize(4);
    }

    /** The timer that limits the wait for an undo ends with the wait. */
    @Test
    void aThreadThatWasInterruptedLeavesNoTimer() {
        LockListener interrupting = new LockListener() {
            @Override
            public void attemptBegan(AttemptBegan event) {
                Thread.currentThread().interrupt();
            }

            @Override
            public void attemptEnded(AttemptEnded event) {
                runtime.passesInWaits();
                runtime.schedule(10_000_000, () -> last().answer().complete(new AcquireReply.Busy(null, 0, List.of())));
            }
        };
        LockClient client = Leasehold.builder()
                .store(store)
                .runtime(runtime)
                .listener(interrupting)
                .connect();
        assertThatThrownBy(() -> client.named(NAME).acquire()).isInstanceOf(InterruptedException.class);
        assertThat(runtime.timers()).isZero();
    }

    @Test
    void whenTheStoreIsBackTheWaitersOfEveryLockAskAgain() {
        LockClient client = client(o -> o);
        for (String name : List.of("a", "b", "c")) {
            client.named(name).acquireAsync();
            last().answer().complete(new AcquireReply.Queued(null, 1, List.of()));
        }
        store.ear().reconnected();
        assertThat(store.acquires()).hasSize(6);
    }

    /** The locks share the owner token, and the store's report about it applies to each of them. */
    @Test
    void whatTheStoreSaysOfAnOwnerTokenIsToldToEachOfItsLocks() {
        LockClient client = client(o -> o);
        CompletableFuture<MultiLease> wanted =
                client.all(NAME, LockName.exactly("b")).acquireAsync();
        grantedAfter(Duration.ZERO);
        List<String> told = new ArrayList<>();
        ((JoinedLeases) wanted.join()).parts.forEach(part -> part.onAtRisk(left -> told.add("at risk")));
        store.ear().suspended(last().request().owner());
        assertThat(told).hasSize(2);
        news.clear();
        store.ear().lost(last().request().owner(), LossCause.SESSION_LOST);
        assertThat(news).containsExactlyInAnyOrder("lost a", "lost b");
    }

    /** A listener runs on the thread that closes, so it must not wait for the close. */
    @Test
    void aListenerThatClosesDuringTheCloseIsNotWaitedFor() {
        AtomicReference<LockClient> closed = new AtomicReference<>();
        closing = () -> closed.get().close(Duration.ofSeconds(50));
        LockClient client = client(o -> o);
        closed.set(client);
        held(client);
        runtime.passesInWaits();
        long beforeNanos = runtime.nanoTime();
        client.close();
        assertThat(runtime.nanoTime() - beforeNanos)
                .isLessThan(Duration.ofSeconds(1).toNanos());
        assertThat(news).contains("lost a");
    }

    /** From the front, each attempt that leaves would let the next one send a request. */
    @Test
    void aCloseWithdrawsTheLastInLineFirst() {
        LockClient client = client(o -> o);
        client.named(NAME).acquireAsync();
        last().answer().complete(new AcquireReply.Queued(null, 1, List.of()));
        client.named(NAME).acquireAsync();
        client.named(NAME).acquireAsync();
        runtime.passesInWaits();
        client.close();
        assertThat(store.acquires()).hasSize(1);
    }

    @Test
    void whoWithdrawsFromSeveralWaitsForTheFirstUndoToo() {
        EngineClient client = (EngineClient) client(o -> o);
        CompletableFuture<ReleaseReply> toTheFirst = new CompletableFuture<>();
        store.answersReleasesWith(toTheFirst);
        PendingAttempt<MultiLease> pending = client.attempts()
                .enterAll(
                        List.of(NAME, LockName.exactly("b")),
                        client.attempts().settings(LockOptions.defaults()),
                        Long.MAX_VALUE);
        grantedAfter(Duration.ofSeconds(29));
        assertThat(store.releases()).as("all at once came too late").hasSize(1);
        CompletableFuture<ReleaseReply> toTheSecond = new CompletableFuture<>();
        store.answersReleasesWith(toTheSecond);
        grantedAfter(Duration.ZERO);
        CompletableFuture<?> left = pending.giveUp();
        last().answer().complete(new AcquireReply.Busy(null, 0, List.of()));
        assertThat(store.releases()).hasSize(2);
        toTheSecond.complete(new ReleaseReply.Released());
        assertThat(left).as("the first is not answered").isNotDone();
        toTheFirst.complete(new ReleaseReply.Released());
        assertThat(left).isDone();
    }

    @Test
    void thePartThatEndedIsTheOneThatIsNamed() {
        LockClient client = client(o -> o);
        store.isNotAtomic();
        CompletableFuture<Attempt<MultiLease>> pending = client.all(
                        LockName.exactly("a"), LockName.exactly("b"), LockName.exactly("c"))
                .attemptAsync(Duration.ofSeconds(5));
        grantedAfter(Duration.ZERO);
        grantedAfter(Duration.ZERO);
        store.ear().lost(store.acquires().get(1).request().owner(), LossCause.FORCE_RELEASED);
        runtime.passUnnoticed(Duration.ofSeconds(5));
        grantedAfter(Duration.ZERO);
        assertThat(((Attempt.Busy<MultiLease>) pending.join()).lockName()).isEqualTo(LockName.exactly("b"));
    }

    /** Nodes that failed one renewal have kept the lock at the next; they are not the cause of a later loss. */
    @Test
    void aLossDoesNotNameWhatNodesSaidToAnEarlierRenewal() {
        Lease lease = held(client(o -> o));
        lease.renewAsync();
        answerTheRenewal(new RenewReply.Failed(new StoreUnavailableException(
                "away", List.of(new NodeVote("n", NodeVote.Answer.FAILED, "away")), null)));
        lease.renewAsync();
        answerTheRenewal(new RenewReply.Renewed(runtime.nanoTime()));
        store.ear().lost(last().request().owner(), LossCause.FORCE_RELEASED);
        assertThat(lease.whenEnded().toCompletableFuture().join())
                .isEqualTo(new HoldEnd.Lost(LossCause.FORCE_RELEASED, List.of()));
    }

    @Test
    void eachListenerIsToldOfARisk() {
        Lease lease = held(client(o -> o));
        List<String> told = new ArrayList<>();
        lease.onAtRisk(left -> told.add("first"));
        lease.onAtRisk(left -> told.add("second"));
        store.ear().suspended(last().request().owner());
        assertThat(told).containsExactly("first", "second");
    }

    /** Each caller has its own stage, and cannot complete the stages of others. */
    @Test
    void aStageOfTheEndThatACallerCompletesTellsNobodyElse() {
        Lease lease = held(client(o -> o));
        lease.whenEnded().toCompletableFuture().complete(new HoldEnd.Lost(LossCause.LEAKED, List.of()));
        CompletableFuture<HoldEnd> other = lease.whenEnded().toCompletableFuture();
        assertThat(other).isNotDone();
        lease.releaseAsync();
        assertThat(other).isCompletedWithValue(new HoldEnd.Released(ReleaseOutcome.RELEASED));
    }
}
