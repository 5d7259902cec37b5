package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Attempt;
import io.leasehold.Holder;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.MultiLease;
import io.leasehold.NodeVote;
import io.leasehold.Renewal;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Several locks whose caller withdraws, whose client closes, or in which an Error occurs: nothing is left, and every
 * end is reported.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
@Timeout(60)
final class SeveralLocksEdgesTest {

    private static final LockName A = LockName.exactly("a");
    private static final LockName B = LockName.exactly("b");
    private static final LockOptions OPTIONS =
            LockOptions.defaults().ttl(Duration.ofSeconds(30)).nodeTimeout(Duration.ofSeconds(2));
    private static final long FOR_EVER = Long.MAX_VALUE;

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final AtomicReference<Consumer<LockName>> whenAnAttemptBegins = new AtomicReference<>(name -> {});
    private final EngineClient client = client(runtime, store);

    private EngineClient client(StillRuntime still, SilentStore silent) {
        LockListener listener = new LockListener() {
            @Override
            public void attemptBegan(AttemptBegan event) {
                whenAnAttemptBegins.get().accept(event.name());
            }
        };
        return new EngineClient(still, silent, OPTIONS, "", List.of(listener), false, null);
    }

    private PendingAttempt<MultiLease> wanted(LockOptions options, long maxWaitNanos) {
        return client.attempts().enterAll(List.of(A, B), client.attempts().settings(options), maxWaitNanos);
    }

    private static void answer(SilentStore silent, AcquireReply reply) {
        silent.acquires().get(silent.acquires().size() - 1).answer().complete(reply);
    }

    private void answer(AcquireReply reply) {
        answer(store, reply);
    }

    private static void grant(StillRuntime still, SilentStore silent) {
        var asked = silent.acquires().get(silent.acquires().size() - 1).request();
        answer(
                silent,
                new AcquireReply.Granted(
                        new Grant(asked.owner(), TokenRange.of(5, 1), still.nanoTime(), Incarnation.DURABLE),
                        List.of()));
    }

    private void grant() {
        grant(runtime, store);
    }

    private static AcquireReply busy() {
        return new AcquireReply.Busy(null, 7, List.of());
    }

    private static ReleaseReply unanswered() {
        return new ReleaseReply.Failed(FailureKind.UNKNOWN, new StoreUnavailableException("made by the test", null));
    }

    private Duration taken(Runnable step) {
        long before = runtime.nanoTime();
        step.run();
        return Duration.ofNanos(runtime.nanoTime() - before);
    }

    // ---- withdrawing

    /** An interrupted caller waits for this: until then, the locks may look taken to the next attempt. */
    @Test
    void aWithdrawalIsOverWhenItsUndoIsAnswered() {
        PendingAttempt<MultiLease> pending = wanted(OPTIONS, FOR_EVER);
        store.answersReleases(unanswered());
        CompletableFuture<?> left = pending.giveUp();
        assertThat(pending.result()).isCompletedExceptionally();
        assertThat(left).as("its request is under way").isNotDone();
        grant();
        assertThat(store.releases()).hasSize(1);
        assertThat(left).as("the undo was not answered").isNotDone();
        store.answersReleases(new ReleaseReply.Released());
        runtime.pass(Duration.ofMillis(60));
        assertThat(store.releases()).hasSize(2);
        assertThat(left).isDone();
        assertThat(wanted(OPTIONS, FOR_EVER).giveUp()).isNotDone();
    }

    @Test
    void aWithdrawalIsOverWhenThePartThatWasWaitedForIsEnded() {
        store.isNotAtomic();
        PendingAttempt<MultiLease> pending = wanted(OPTIONS, FOR_EVER);
        grant();
        store.answersReleases(unanswered());
        CompletableFuture<?> left = pending.giveUp();
        assertThat(store.releases()).as("of the first part").hasSize(1);
        assertThat(left).isNotDone();
        grant();
        assertThat(store.releases()).hasSize(2);
        assertThat(left).as("the undo was not answered").isNotDone();
        store.answersReleases(new ReleaseReply.Released());
        runtime.pass(Duration.ofMillis(60));
        assertThat(left).isDone();
        assertThat(store.acquires()).hasSize(2);
    }

    @Test
    void whoLeavesBetweenTwoPartsLeavesNothing() {
        store.isNotAtomic();
        PendingAttempt<MultiLease> pending = wanted(OPTIONS, FOR_EVER);
        whenAnAttemptBegins.set(name -> pending.giveUp());
        grant();
        assertThat(pending.result()).isCompletedExceptionally();
        assertThat(store.releases()).as("of the first part").isNotEmpty();
        if (store.acquires().size() > 1) {
            grant();
            assertThat(store.releases()).hasSize(2);
        }
        runtime.pass(Duration.ofMinutes(2));
        assertThat(store.renewals()).isEmpty();
        runtime.passesInWaits();
        assertThat(taken(client::close)).isLessThan(Duration.ofMillis(10));
    }

    @Test
    void whoLeavesWithAllOfThemGivesThemBack() {
        PendingAttempt<MultiLease> pending = wanted(OPTIONS, FOR_EVER);
        grant();
        assertThat(pending.result()).isCompleted();
        assertThat(pending.giveUp()).isDone();
        assertThat(store.releases()).hasSize(2);
        runtime.pass(Duration.ofMinutes(2));
        assertThat(store.renewals()).isEmpty();
    }

    // ---- the end of the client

    @Test
    void aCloseWaitsForTheAnswerToSeveralAndForNothingAfterIt() {
        PendingAttempt<MultiLease> pending = wanted(OPTIONS, FOR_EVER);
        runtime.passesInWaits();
        runtime.schedule(Duration.ofSeconds(1).toNanos(), this::grant);
        assertThat(taken(() -> client.close(Duration.ofSeconds(8))))
                .isBetween(Duration.ofSeconds(1), Duration.ofMillis(1_100));
        assertThat(store.releases()).hasSize(1);
        assertThatThrownBy(() -> Futures.result(pending.result()))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContainingAll("closed", "[a, b]");
    }

    @Test
    void aCloseWaitsForNoAttemptThatIsOver() {
        CompletableFuture<Attempt<MultiLease>> one = wanted(OPTIONS, FOR_EVER).result();
        grant();
        assertThat(one).isCompleted();
        one.join().orElseThrow().releaseAsync();
        store.isNotAtomic();
        CompletableFuture<Attempt<MultiLease>> other = wanted(OPTIONS, 0).result();
        answer(busy());
        assertThat(other).isCompleted();
        runtime.passesInWaits();
        assertThat(taken(client::close)).isLessThan(Duration.ofMillis(10));
    }

    // ---- Errors

    /**
     * Whichever read of a clock fails, either the locks are held, or the caller receives the failure and nothing stays
     * taken.
     */
    @Test
    void whatAnErrorMeetsIsToldAndLeavesNothing() {
        for (boolean atOnce : new boolean[] {true, false}) {
            int met = 0;
            for (int at = 1; at <= 60; at++) {
                StillRuntime still = new StillRuntime();
                SilentStore silent = new SilentStore();
                EngineClient own = client(still, silent);
                if (!atOnce) {
                    silent.isNotAtomic();
                }
                PendingAttempt<MultiLease> pending =
                        own.attempts().enterAll(List.of(A, B), own.attempts().settings(OPTIONS), FOR_EVER);
                AtomicInteger reads = new AtomicInteger();
                int fatal = at;
                still.beforeAClockIsRead(() -> {
                    if (reads.incrementAndGet() == fatal) {
                        throw new InternalError("made by the test");
                    }
                });
                for (int answered = 0; answered < silent.acquires().size(); answered++) {
                    grantThe(answered, silent);
                }
                still.beforeAClockIsRead(() -> {});
                still.pass(Duration.ofMillis(100));
                for (int answered = 0; answered < silent.acquires().size(); answered++) {
                    grantThe(answered, silent);
                }
                String as = "read " + at + ", at once " + atOnce;
                assertThat(pending.result()).as(as).isDone();
                if (pending.result().isCompletedExceptionally()) {
                    met++;
                    int renewals = silent.renewals().size();
                    still.pass(Duration.ofMinutes(2));
                    assertThat(silent.renewals()).as(as).hasSize(renewals);
                    assertThat(silent.releases()).as(as).isNotEmpty();
                }
                still.passesInWaits();
                long before = still.nanoTime();
                own.close();
                assertThat(Duration.ofNanos(still.nanoTime() - before)).as(as).isLessThan(Duration.ofMillis(100));
            }
            assertThat(met).isPositive();
        }
    }

    @Test
    void whatCouldNotBeAskedForStandsInNobodysWay() {
        boolean met = true;
        for (int at = 1; met; at++) {
            StillRuntime still = new StillRuntime();
            SilentStore silent = new SilentStore();
            EngineClient own = client(still, silent);
            AtomicInteger reads = new AtomicInteger();
            int fatal = at;
            still.beforeAClockIsRead(() -> {
                if (reads.incrementAndGet() == fatal) {
                    throw new InternalError("made by the test");
                }
            });
            PendingAttempt<MultiLease> pending = null;
            try {
                pending = own.attempts().enterAll(List.of(A, B), own.attempts().settings(OPTIONS), FOR_EVER);
            } catch (InternalError e) {
                assertThat(e).hasMessage("made by the test");
            }
            still.beforeAClockIsRead(() -> {});
            met = reads.get() >= at;
            for (int answered = 0; answered < silent.acquires().size(); answered++) {
                grantThe(answered, silent);
            }
            assertThat(pending == null || pending.result().isDone()).isTrue();
            still.passesInWaits();
            long before = still.nanoTime();
            own.close();
            assertThat(Duration.ofNanos(still.nanoTime() - before))
                    .as("read %d", at)
                    .isLessThan(Duration.ofMillis(100));
        }
    }

    private static void grantThe(int index, SilentStore silent) {
        var asked = silent.acquires().get(index);
        asked.answer()
                .complete(new AcquireReply.Granted(
                        new Grant(asked.request().owner(), TokenRange.of(5, 1), 1_000_000_000L, Incarnation.DURABLE),
                        List.of()));
    }

    // ---- reports

    @Test
    void whatKeepsThemBusyIsTold() {
        store.isNotAtomic();
        CompletableFuture<Attempt<MultiLease>> result = wanted(OPTIONS, 0).result();
        Holder holder = new Holder("host/1/other", Duration.ofSeconds(3), OptionalLong.of(9));
        NodeVote vote = new NodeVote("n", NodeVote.Answer.BUSY, "");
        runtime.pass(Duration.ofMillis(400));
        answer(new AcquireReply.Busy(holder, 7, List.of(vote)));
        assertThat(result).isCompletedWithValue(new Attempt.Busy<>(A, Duration.ofMillis(400), holder, List.of(vote)));
    }

    /** A part with exactly the least validity left is accepted; with one nanosecond less, all are acquired again. */
    @Test
    void aPartThatIsAboutToEndIsNotHandedOut() {
        store.isNotAtomic();
        LockOptions fixed = OPTIONS.renewal(Renewal.none());
        Timings timings = Timings.of(fixed, false);
        long spareNanos = timings.validityNanos() - Math.max(1, timings.minimumValidityNanos());
        PendingAttempt<MultiLease> good = wanted(fixed, FOR_EVER);
        grant();
        runtime.pass(Duration.ofNanos(spareNanos));
        grant();
        assertThat(good.result()).isCompleted();
        good.giveUp();
        PendingAttempt<MultiLease> late = wanted(fixed, FOR_EVER);
        grant();
        runtime.pass(Duration.ofNanos(spareNanos + 1));
        grant();
        assertThat(late.result()).isNotDone();
        late.giveUp();
        grant();
        PendingAttempt<MultiLease> hurried = wanted(fixed, spareNanos + 1);
        int asked = store.acquires().size();
        grant();
        runtime.pass(Duration.ofNanos(spareNanos + 1));
        grant();
        assertThat(hurried.result()).isCompletedWithValueMatching(Attempt.Busy.class::isInstance);
        assertThat(store.acquires()).hasSize(asked + 1);
    }
}
