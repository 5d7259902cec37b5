package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Backoff;
import io.leasehold.Candidacy;
import io.leasehold.Election;
import io.leasehold.Holder;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.StoreUnavailableException;
import io.leasehold.Term;
import io.leasehold.UnsafeStoreException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The edge cases of a candidacy: its log messages, the limits of its waits, and events that arrive too late. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class CandidacyEdgesTest {

    private static final LockName NAME = LockName.exactly("scheduler");
    private static final Duration TTL = Duration.ofSeconds(30);

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final List<Term> terms = new ArrayList<>();
    private CompletableFuture<Void> work = new CompletableFuture<>();

    interface Step {
        void take() throws Exception;
    }

    static String logged(Step step) throws Exception {
        PrintStream before = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
        try {
            step.take();
        } finally {
            System.setErr(before);
        }
        return log.toString(StandardCharsets.UTF_8);
    }

    private LockClient client(LockOptions options, @Nullable Executor executor) {
        Leasehold.Builder builder =
                Leasehold.builder().store(store).runtime(runtime).defaults(options.ttl(TTL));
        return (executor == null ? builder : builder.workExecutor(executor)).connect();
    }

    private Candidacy stand() {
        return stand(client(LockOptions.defaults(), null));
    }

    private Candidacy stand(LockClient client) {
        return client.election(NAME).standAsync(term -> {
            terms.add(term);
            work = new CompletableFuture<>();
            return work;
        });
    }

    private int asked() {
        return store.acquires().size();
    }

    private void elect() {
        store.acquires().get(asked() - 1).answer().complete(granted());
    }

    /** Returns the grant for the last request. */
    private AcquireReply granted() {
        return new AcquireReply.Granted(
                new Grant(
                        store.acquires().get(asked() - 1).request().owner(),
                        TokenRange.of(100L * asked(), 64),
                        runtime.nanoTime(),
                        Incarnation.DURABLE),
                List.of());
    }

    private void fail() {
        store.acquires()
                .get(asked() - 1)
                .answer()
                .complete(new AcquireReply.Failed(
                        FailureKind.PERMANENT, new StoreUnavailableException("made by the test", null), 0));
    }

    private void lose() {
        store.ear().lost(store.acquires().get(asked() - 1).request().owner(), LossCause.SESSION_LOST);
    }

    private static long times(String log, String text) {
        return log.lines().filter(line -> line.contains(text)).count();
    }

    @Test
    void anOutageIsLoggedOnceAndTheNextOneAgain() throws Exception {
        String log = logged(() -> {
            stand();
            fail();
            runtime.pass(Duration.ofSeconds(1));
            fail();
            runtime.pass(Duration.ofSeconds(1));
            elect();
            work.complete(null);
            fail();
        });
        assertThat(times(log, "cannot stand at the moment")).isEqualTo(2);
    }

    /** A standby may wait for days between two outages, and is never elected. */
    @Test
    void theNextOutageOfAStandbyIsLoggedToo() throws Exception {
        List<AcquireReply> waits =
                List.of(new AcquireReply.Queued(null, 0, List.of()), new AcquireReply.Busy(null, 0, List.of()));
        String log = logged(() -> {
            stand();
            fail();
            for (AcquireReply wait : waits) {
                runtime.pass(Duration.ofSeconds(1));
                store.acquires().get(asked() - 1).answer().complete(wait);
                runtime.pass(TTL.multipliedBy(2));
                fail();
                runtime.pass(Duration.ofSeconds(1));
                fail();
            }
        });
        assertThat(times(log, "cannot stand at the moment")).isEqualTo(3);
    }

    /** Each attempt of a long outage lasts for a ttl, until it gives up. */
    @Test
    void anOutageThatOutlastsManyAttemptsIsLoggedOnce() throws Exception {
        store.answersAtOnce(request -> new AcquireReply.Failed(
                FailureKind.NO_EFFECT, new StoreUnavailableException("made by the test", null), 0));
        String log = logged(() -> {
            stand();
            runtime.pass(TTL.multipliedBy(10));
        });
        assertThat(times(log, "cannot stand at the moment")).isEqualTo(1);
    }

    @Test
    void aCandidateThatIsClosedWithItsClientLogsNothing() throws Exception {
        String log = logged(() -> {
            LockClient client = client(LockOptions.defaults(), null);
            stand(client);
            runtime.passesInWaits();
            client.close();
        });
        assertThat(log).doesNotContain("scheduler");
    }

    @Test
    void aCandidateThatIsClosedWhileItsNextAttemptBeginsLeavesNone() {
        runtime.passesInWaits();
        Candidacy[] standing = new Candidacy[1];
        LockClient client = Leasehold.builder()
                .store(store)
                .runtime(runtime)
                .defaults(LockOptions.defaults().ttl(TTL))
                .listener(new LockListener() {
                    @Override
                    public void attemptBegan(AttemptBegan event) {
                        if (standing[0] != null) {
                            standing[0].close();
                        }
                    }
                })
                .connect();
        standing[0] = stand(client);
        fail();
        runtime.pass(Duration.ofSeconds(1));
        assertThat(asked()).isEqualTo(2);
        elect();
        assertThat(terms).isEmpty();
        assertThat(store.releases())
                .extracting(ReleaseRequest::owner)
                .contains(store.acquires().get(1).request().owner());
    }

    @Test
    void theFailureOfALeaderIsLoggedUnlessItWasToldToStop() throws Exception {
        String log = logged(() -> {
            Candidacy candidacy = stand();
            elect();
            candidacy.resignAsync();
            work.completeExceptionally(new IllegalStateException("stopped"));
            elect();
            work.completeExceptionally(new IllegalStateException("broken"));
        });
        assertThat(times(log, "has failed; it releases term")).isEqualTo(1);
        assertThat(log).contains("broken").doesNotContain("stopped");
    }

    @Test
    void aCallbackThatGoesOnATtlAfterALossIsLogged() throws Exception {
        stand();
        elect();
        lose();
        assertThat(logged(() -> runtime.pass(TTL.minusMillis(1)))).isEmpty();
        String log = logged(() -> runtime.pass(Duration.ofMillis(2)));
        assertThat(times(log, "its callback has not returned")).isEqualTo(1);
        work.complete(null);
        assertThat(logged(() -> runtime.pass(TTL.multipliedBy(2)))).isEmpty();
    }

    @Test
    void aCallbackThatReturnsInTimeIsNotLogged() throws Exception {
        assertThat(logged(() -> {
                    Candidacy candidacy = stand();
                    elect();
                    candidacy.resignAsync();
                    work.complete(null);
                    runtime.pass(TTL.multipliedBy(2));
                }))
                .isEmpty();
    }

    @Test
    void thePausesAfterFailuresGrowAsThoseOfAWaiter() {
        stand(client(
                LockOptions.defaults().retry(Backoff.exponential(Duration.ofMillis(10), Duration.ofSeconds(1))), null));
        for (int millis = 5; millis <= 40; millis *= 2) {
            int before = asked();
            fail();
            runtime.pass(Duration.ofMillis(millis - 1));
            assertThat(asked()).isEqualTo(before);
            runtime.pass(Duration.ofMillis(1));
            assertThat(asked()).isEqualTo(before + 1);
        }
    }

    @Test
    void whereNothingKeepsAnOrderAResignationPausesUntilTheOthersHaveAsked() {
        store.ordered = false;
        Candidacy candidacy = stand(client(LockOptions.defaults().recheck(Duration.ofSeconds(5)), null));
        elect();
        candidacy.resignAsync();
        work.complete(null);
        runtime.pass(Duration.ofMillis(5_999));
        assertThat(asked()).isEqualTo(1);
        runtime.pass(Duration.ofMillis(1));
        assertThat(asked()).isEqualTo(2);
        elect();
        work.complete(null);
        assertThat(asked()).as("it has not resigned").isEqualTo(3);
    }

    @Test
    void closingWaitsForTheCallbackAndAtMostForTheValidity() {
        Candidacy candidacy = stand();
        elect();
        runtime.pass(Duration.ofSeconds(5));
        long left = term().remainingValidity().toNanos();
        runtime.passesInWaits();
        long before = runtime.nanoTime();
        candidacy.close();
        assertThat(runtime.nanoTime() - before)
                .isBetween(left, left + Duration.ofSeconds(3).toNanos());
        assertThat(store.releases()).hasSize(1);
        assertThat(candidacy.whenEnded().toCompletableFuture()).isNotDone();
        work.complete(null);
        assertThat(candidacy.whenEnded().toCompletableFuture()).isDone();
    }

    private Term term() {
        return terms.get(terms.size() - 1);
    }

    @Test
    void aPauseEndsWithTheClient() {
        LockClient client = client(LockOptions.defaults().retry(Backoff.fixed(Duration.ofHours(1))), null);
        Candidacy candidacy = stand(client);
        fail();
        CompletableFuture<Void> ended = candidacy.whenEnded().toCompletableFuture();
        assertThat(ended).isNotDone();
        client.close();
        assertThat(ended).isCompletedWithValue(null);
    }

    @Test
    void aCallbackThatOutlastsItsClientEndsTheCandidacyWhenItReturns() {
        LockClient client = client(LockOptions.defaults(), null);
        Candidacy candidacy = stand(client);
        elect();
        runtime.passesInWaits();
        client.close();
        CompletableFuture<Void> ended = candidacy.whenEnded().toCompletableFuture();
        assertThat(ended).isNotDone();
        work.complete(null);
        assertThat(ended).isCompletedWithValue(null);
    }

    @Test
    void whatTheStoreWillNeverAcceptIsToldWithItsReason() {
        Candidacy candidacy = stand();
        elect();
        store.accepts(Duration.ofSeconds(1));
        work.complete(null);
        assertThat(candidacy.whenEnded().toCompletableFuture())
                .failsWithin(Duration.ZERO)
                .withThrowableOfType(java.util.concurrent.ExecutionException.class)
                .withCauseInstanceOf(UnsafeStoreException.class);
        assertThat(candidacy.closeAsync()).isCompletedWithValue(null);
    }

    /** The term is released only once its callback has returned; a renewal before that does not prove the term. */
    @Test
    void aCheckOfATermThatIsResignedMeanwhileDoesNotPass() {
        Candidacy candidacy = stand();
        elect();
        runtime.pass(Duration.ofSeconds(8));
        CompletableFuture<Void> check =
                terms.get(0).ensureValidForAsync(Duration.ofSeconds(25)).toCompletableFuture();
        assertThat(check).isNotDone();
        candidacy.resignAsync();
        store.renewals().get(0).answer().complete(new RenewReply(List.of(new RenewReply.Renewed(runtime.nanoTime()))));
        assertThat(check)
                .failsWithin(Duration.ZERO)
                .withThrowableOfType(java.util.concurrent.ExecutionException.class)
                .withCauseInstanceOf(IllegalStateException.class);
    }

    @Test
    void aTermThatEndsBeforeItsCallbackBeginsIsNotLed() {
        List<Runnable> tasks = new ArrayList<>();
        Candidacy candidacy = stand(client(LockOptions.defaults(), tasks::add));
        elect();
        CompletableFuture<ReleaseOutcome> outcome = candidacy.resignAsync();
        tasks.get(0).run();
        assertThat(terms).isEmpty();
        assertThat(outcome).isCompletedWithValue(ReleaseOutcome.RELEASED);
        assertThat(asked()).isEqualTo(2);
    }

    @Test
    void aStageThatRejectsACallbackHasFailed() {
        client(LockOptions.defaults(), null).election(NAME).standAsync(term -> new CompletableFuture<Void>() {
            @Override
            public CompletableFuture<Void> whenComplete(BiConsumer<? super Void, ? super Throwable> action) {
                throw new IllegalStateException("made by the test");
            }
        });
        elect();
        assertThat(store.releases()).hasSize(1);
        assertThat(asked()).as("it pauses").isEqualTo(1);
    }

    @Test
    void aTermWhoseCallbackHasReturnedTellsNothingMore() {
        stand();
        elect();
        Term over = term();
        List<Object> told = new ArrayList<>();
        over.onAtRisk(told::add);
        store.ear().suspended(store.acquires().get(0).request().owner());
        assertThat(told).as("its risk").hasSize(1);
        over.onEnd(told::add);
        work.complete(null);
        over.onEnd(told::add);
        lose();
        assertThat(told).hasSize(1);
        assertThat(over.isValid()).isFalse();
        assertThat(over.remainingValidity()).isZero();
        assertThatThrownBy(() -> over.ensureValidFor(Duration.ofSeconds(1))).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void theSameListenerTwiceHearsTwice() {
        stand();
        elect();
        List<Term.End> told = new ArrayList<>();
        java.util.function.Consumer<Term.End> listener = told::add;
        term().onEnd(listener);
        term().onEnd(listener);
        lose();
        assertThat(told).hasSize(2);
        term().onEnd(listener);
        assertThat(told).hasSize(3);
    }

    @Test
    void aResignedTermTellsALateListenerSo() {
        Candidacy candidacy = stand();
        elect();
        candidacy.resignAsync();
        lose();
        List<Term.End> told = new ArrayList<>();
        term().onEnd(told::add);
        assertThat(told).containsExactly(new Term.End.Resigned());
    }

    @Test
    void onlyTheSameClientWithNoLargerTokenMayStillHoldARelease() {
        store.answersReleases(
                new ReleaseReply.Failed(FailureKind.UNKNOWN, new StoreUnavailableException("made by the test", null)));
        LockClient client = client(LockOptions.defaults(), null);
        Candidacy candidacy = stand(client);
        elect();
        long token = term().fencingToken();
        candidacy.resignAsync();
        work.complete(null);
        holds(client.holderId(), token);
        assertThat(candidacy.resign()).isEqualTo(ReleaseOutcome.UNCONFIRMED);
        holds(client.holderId(), token + 1);
        assertThat(candidacy.resign()).isEqualTo(ReleaseOutcome.RELEASED);
        holds("another", token);
        assertThat(candidacy.resign()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    private void holds(String holderId, long token) {
        store.tells(NAME, new Holder(holderId, TTL, OptionalLong.of(token)));
    }

    @Test
    void everythingNamesItsElection() {
        LockClient client = client(LockOptions.defaults(), null);
        Election election = client.election(NAME);
        Candidacy candidacy = stand(client);
        elect();
        assertThat(term().election()).isEqualTo(NAME);
        assertThat(List.of(election, candidacy, term()))
                .allSatisfy(each -> assertThat(each.toString()).contains("scheduler"));
    }

    /** The callback returns during the notification, so that the next step has begun before this step is over. */
    @Test
    void aCallbackThatReturnsAtOnceWhenItIsToldDoesNotStopWhatFollows() {
        store.ordered = false;
        Candidacy candidacy = stand();
        elect();
        term().onEnd(end -> work.complete(null));
        candidacy.resignAsync();
        runtime.pass(Duration.ofSeconds(4));
        assertThat(asked()).as("its pause has ended").isEqualTo(2);
        runtime.pass(TTL.multipliedBy(2));
        assertThat(runtime.timers()).isLessThanOrEqualTo(1);
    }

    @Test
    void afterTheClientIsClosedNothingWaitsForATimerThatNeverComes() {
        LockClient client = client(LockOptions.defaults(), null);
        Candidacy candidacy = stand(client);
        elect();
        CompletableFuture<ReleaseOutcome> resigned = candidacy.resignAsync();
        runtime.passesInWaits();
        client.close();
        assertThat(resigned).as("its callback has not returned").isDone();
        candidacy.close();
        assertThat(candidacy.resign()).isNotNull();
        work.complete(null);
        assertThat(candidacy.whenEnded().toCompletableFuture()).isDone();
    }

    /** Some exceptions cannot be logged. */
    @Test
    void aFailureThatCannotBeLoggedIsAFailureAllTheSame() {
        client(LockOptions.defaults(), null).election(NAME).standAsync(term -> {
            throw new IllegalStateException() {
                @Override
                public String getMessage() {
                    throw new IllegalArgumentException("made by the test");
                }
            };
        });
        elect();
        assertThat(store.releases()).hasSize(1);
        runtime.pass(Duration.ofSeconds(1));
        assertThat(asked()).isEqualTo(2);
    }

    @Test
    void aLossThatIsKnownIsNotWaitedFor() {
        Candidacy candidacy = stand();
        elect();
        lose();
        assertThat(candidacy.resign()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
        assertThat(asked()).isEqualTo(1);
    }

    @Test
    void aTermThatWaitsForAThreadInVainIsGivenBackAtOnce() {
        List<Runnable> tasks = new ArrayList<>();
        Candidacy candidacy = stand(client(LockOptions.defaults(), tasks::add));
        elect();
        CompletableFuture<Void> closed = candidacy.closeAsync();
        assertThat(closed).as("no thread has taken it").isDone();
        assertThat(store.releases()).hasSize(1);
        tasks.get(0).run();
        assertThat(terms).isEmpty();
    }

    @Test
    void aRefusalThatMayBeMendedIsAskedAgain() throws Exception {
        Candidacy candidacy = stand();
        String log = logged(() -> store.acquires()
                .get(0)
                .answer()
                .complete(new AcquireReply.Failed(
                        FailureKind.PERMANENT, new UnsafeStoreException("a member is new", null), 0)));
        assertThat(times(log, "cannot stand at the moment")).isEqualTo(1);
        assertThat(candidacy.whenEnded().toCompletableFuture()).isNotDone();
        runtime.pass(Duration.ofSeconds(1));
        assertThat(asked()).isEqualTo(2);
    }

    @Test
    void anAsynchronousCallbackMayResignItself() {
        List<ReleaseOutcome> outcomes = new ArrayList<>();
        List<Candidacy> candidacy = new ArrayList<>();
        candidacy.add(client(LockOptions.defaults(), null).election(NAME).standAsync(term -> {
            outcomes.add(candidacy.get(0).resign());
            return work;
        }));
        elect();
        assertThat(outcomes).containsExactly(ReleaseOutcome.RELEASED);
        assertThat(asked()).isEqualTo(1);
        work.complete(null);
        assertThat(asked()).isEqualTo(2);
    }

    @Test
    void anErrorAtTheStartOfAThreadOrATimerEndsNoCandidacy() {
        for (int failing = 0; failing < 12; failing++) {
            SilentStore ofTheTry = new SilentStore();
            StillRuntime still = new StillRuntime();
            LockClient client =
                    Leasehold.builder().store(ofTheTry).runtime(still).connect();
            List<CompletableFuture<Void>> works = new ArrayList<>();
            Candidacy candidacy = client.election(NAME).standAsync(term -> {
                CompletableFuture<Void> begun = new CompletableFuture<>();
                works.add(begun);
                return begun;
            });
            still.failToStart(1, failing);
            for (int i = 0; i < 3; i++) {
                var asked = ofTheTry.acquires().get(ofTheTry.acquires().size() - 1);
                asked.answer()
                        .complete(new AcquireReply.Granted(
                                new Grant(
                                        asked.request().owner(),
                                        TokenRange.of(100L * (i + 1), 64),
                                        still.nanoTime(),
                                        Incarnation.DURABLE),
                                List.of()));
                candidacy.resignAsync();
                works.forEach(begun -> begun.complete(null));
                still.pass(Duration.ofSeconds(40));
            }
            candidacy.closeAsync();
            works.forEach(begun -> begun.complete(null));
            ofTheTry.acquires()
                    .forEach(asked -> asked.answer()
                            .complete(new AcquireReply.Failed(
                                    FailureKind.NO_EFFECT,
                                    new StoreUnavailableException("made by the test", null),
                                    0)));
            still.pass(Duration.ofMinutes(2));
            assertThat(candidacy.whenEnded().toCompletableFuture())
                    .as("an Error at the start of %s", failing)
                    .isDone();
        }
    }

    @Test
    void anErrorAtTheReadOfAClockEndsNoCandidacyAndKeepsNoneFromItsEnd() {
        for (boolean leads : new boolean[] {false, true}) {
            boolean met = true;
            for (int fatal = 1; met; fatal++) {
                CandidacyEdgesTest own = new CandidacyEdgesTest();
                Candidacy candidacy = own.stand();
                if (leads) {
                    own.elect();
                }
                met = own.meets(fatal, () -> {
                    if (!leads) {
                        candidacy.closeAsync();
                        own.fail();
                    } else {
                        candidacy.resignAsync();
                        own.work.complete(null);
                        own.runtime.pass(Duration.ofSeconds(5));
                    }
                });
                if (leads) {
                    own.runtime.pass(Duration.ofSeconds(40));
                    assertThat(own.asked()).as("read %d", fatal).isEqualTo(2);
                    candidacy.closeAsync();
                    own.fail();
                }
                own.runtime.pass(Duration.ofMinutes(2));
                assertThat(candidacy.whenEnded().toCompletableFuture())
                        .as("read %d, leads %s", fatal, leads)
                        .isDone();
            }
        }
    }

    @Test
    void anErrorAtTheReadOfAClockDuringALossOrAnElectionEndsNoCandidacy() {
        for (boolean loss : new boolean[] {false, true}) {
            boolean met = true;
            for (int fatal = 1; met; fatal++) {
                CandidacyEdgesTest own = new CandidacyEdgesTest();
                Candidacy candidacy = own.stand();
                if (loss) {
                    own.elect();
                    met = own.meets(fatal, own::lose);
                } else {
                    AcquireReply granted = own.granted();
                    var asked = own.store.acquires().get(0);
                    met = own.meets(fatal, () -> asked.answer().complete(granted));
                }
                for (int second = 0; second < 60; second++) {
                    own.work.complete(null);
                    if (own.asked() > 1 && !own.store.acquires().get(1).answer().isDone()) {
                        own.elect();
                    }
                    own.runtime.pass(Duration.ofSeconds(1));
                }
                assertThat(own.asked()).as("read %d, loss %s", fatal, loss).isGreaterThan(2);
                candidacy.closeAsync();
                own.store
                        .acquires()
                        .forEach(asked -> asked.answer()
                                .complete(new AcquireReply.Failed(
                                        FailureKind.NO_EFFECT,
                                        new StoreUnavailableException("made by the test", null),
                                        0)));
                own.runtime.pass(Duration.ofMinutes(2));
                assertThat(candidacy.whenEnded().toCompletableFuture())
                        .as("read %d, loss %s", fatal, loss)
                        .isDone();
            }
        }
    }

    /** Runs the step, and fails the read of a clock with this number. Returns whether that read occurred. */
    private boolean meets(int fatal, Runnable step) {
        AtomicInteger reads = new AtomicInteger();
        runtime.beforeAClockIsRead(() -> {
            if (reads.incrementAndGet() == fatal) {
                throw new InternalError("made by the test");
            }
        });
        try {
            step.run();
        } catch (InternalError e) {
            assertThat(e).hasMessage("made by the test");
        } finally {
            runtime.beforeAClockIsRead(() -> {});
        }
        return reads.get() >= fatal;
    }

    /** The thread that reports a loss is late, and the candidacy is closed in the meantime. */
    @Test
    void aLossThatACloseOvertakesIsToldAsTheLossThatItIs() {
        Candidacy candidacy = stand();
        elect();
        List<Term.End> told = new ArrayList<>();
        term().onEnd(told::add);
        runtime.holdCallbacks();
        lose();
        candidacy.closeAsync();
        runtime.runCallbacks();
        assertThat(told).containsExactly(new Term.End.Lost(LossCause.SESSION_LOST));
        List<Term.End> late = new ArrayList<>();
        term().onEnd(late::add);
        assertThat(late).isEqualTo(told);
    }

    /** As a leader does that is interrupted: it returns while the others have not been notified. */
    @Test
    void aLossIsToldToEveryListenerAlthoughTheCallbackReturnsMeanwhile() {
        stand();
        elect();
        List<Term.End> told = new ArrayList<>();
        term().onEnd(end -> work.complete(null));
        term().onEnd(told::add);
        lose();
        assertThat(told).containsExactly(new Term.End.Lost(LossCause.SESSION_LOST));
        term().onEnd(told::add);
        assertThat(told).as("a late listener").hasSize(2);
    }

    /** The threads that would report the end have ended with the client. */
    @Test
    void theEndOfACandidacyIsToldWithTheEndOfItsClient() {
        LockClient client = client(LockOptions.defaults().retry(Backoff.fixed(Duration.ofHours(1))), null);
        Candidacy candidacy = stand(client);
        fail();
        runtime.holdCallbacks();
        candidacy.closeAsync();
        CompletableFuture<Void> ended = candidacy.whenEnded().toCompletableFuture();
        assertThat(ended).as("its thread is late").isNotDone();
        client.close();
        assertThat(ended).isCompletedWithValue(null);
    }

    private static StoreUnavailableException away() {
        return new StoreUnavailableException("made by the test", null);
    }

    private void isAway() {
        store.answersReleases(new ReleaseReply.Failed(FailureKind.UNKNOWN, away()));
        store.acquires().get(asked() - 1).answer().complete(new AcquireReply.Failed(FailureKind.UNKNOWN, away(), 5));
    }

    /** The undo of the attempt is repeated for as long as the store may keep the lock. No timer runs after the close. */
    @Test
    void aWithdrawalThatTheStoreDoesNotAnswerEndsWithTheClient() {
        LockClient client = client(LockOptions.defaults(), null);
        Candidacy candidacy = stand(client);
        isAway();
        CompletableFuture<Void> closed = candidacy.closeAsync();
        CompletableFuture<Void> ended = candidacy.whenEnded().toCompletableFuture();
        assertThat(ended).as("the undo is not answered").isNotDone();
        runtime.passesInWaits();
        client.close();
        assertThat(ended).isCompletedWithValue(null);
        assertThat(closed).isCompletedWithValue(null);
    }

    /** The validity of a term that has ended is no time for which a close has to wait. */
    @Test
    void closingACandidateThatNoLongerLeadsWaitsForTheStoreOnly() {
        Candidacy candidacy = stand();
        elect();
        work.complete(null);
        assertThat(asked()).as("it stands again").isEqualTo(2);
        isAway();
        runtime.passesInWaits();
        long before = runtime.nanoTime();
        candidacy.close();
        assertThat(runtime.nanoTime() - before)
                .isLessThanOrEqualTo(Duration.ofSeconds(3).toNanos());
        assertThat(candidacy.whenEnded().toCompletableFuture()).isNotDone();
    }

    @Test
    void anErrorAtTheReadOfAClockEndsNoPause() {
        boolean met = true;
        for (int fatal = 1; met; fatal++) {
            CandidacyEdgesTest own = new CandidacyEdgesTest();
            own.stand();
            met = own.meets(fatal, own::fail);
            own.runtime.pass(Duration.ofSeconds(1));
            assertThat(own.asked()).as("read %d", fatal).isEqualTo(2);
        }
    }

    /** A callback that does not return keeps the term no longer than its validity. */
    @Test
    void anErrorAtTheReadOfAClockEndsNoGrace() {
        boolean met = true;
        for (int fatal = 1; met; fatal++) {
            CandidacyEdgesTest own = new CandidacyEdgesTest();
            Candidacy candidacy = own.stand();
            own.elect();
            met = own.meets(fatal, candidacy::resignAsync);
            assertThat(own.store.releases()).as("read %d", fatal).isEmpty();
            own.runtime.pass(TTL);
            assertThat(own.store.releases()).as("read %d", fatal).hasSize(1);
        }
    }

    @Test
    void aTermWhoseCallbackHasReturnedIsNoTermAlthoughItsReleaseIsNotAnswered() {
        CompletableFuture<ReleaseReply> later = new CompletableFuture<>();
        store.answersReleasesWith(later);
        Candidacy candidacy = stand();
        elect();
        work.complete(null);
        assertThat(candidacy.term()).isEmpty();
        assertThat(term().isValid()).isFalse();
        later.complete(new ReleaseReply.Released());
    }
}
