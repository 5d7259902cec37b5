package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Candidacy;
import io.leasehold.Holder;
import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
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
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A candidacy step by step; time passes only when the test says so. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class CandidacyTest {

    private static final LockName NAME = LockName.exactly("scheduler");
    private static final Duration TTL = Duration.ofSeconds(30);

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final List<Term> terms = new ArrayList<>();
    private final List<Term.End> ends = new ArrayList<>();
    private CompletableFuture<Void> work = new CompletableFuture<>();

    private final LockClient client = Leasehold.builder()
            .store(store)
            .runtime(runtime)
            .defaults(LockOptions.defaults().ttl(TTL))
            .connect();

    private CompletionStage<Void> lead(Term term) {
        terms.add(term);
        term.onEnd(ends::add);
        work = new CompletableFuture<>();
        return work;
    }

    private Candidacy stand() {
        return client.election(NAME).standAsync(this::lead);
    }

    private int asked() {
        return store.acquires().size();
    }

    /** Grants the last request. */
    private void elect() {
        var asked = store.acquires().get(asked() - 1);
        long token = 100L * asked();
        asked.answer()
                .complete(new AcquireReply.Granted(
                        new Grant(
                                asked.request().owner(),
                                TokenRange.of(token, 64),
                                runtime.nanoTime(),
                                Incarnation.DURABLE),
                        List.of()));
    }

    private void fail(FailureKind kind) {
        store.acquires()
                .get(asked() - 1)
                .answer()
                .complete(new AcquireReply.Failed(kind, new StoreUnavailableException("made by the test", null), 0));
    }

    private Term term() {
        return terms.get(terms.size() - 1);
    }

    @Test
    void itLeadsUntilItsStageEndsAndThenStandsAgain() {
        Candidacy candidacy = stand();
        assertThat(candidacy.election()).isEqualTo(NAME);
        assertThat(candidacy.term()).isEmpty();
        elect();
        assertThat(candidacy.term()).containsSame(term());
        assertThat(term().fencingToken()).isPositive();
        assertThat(term().isValid()).isTrue();
        assertThat(term().remainingValidity()).isPositive();
        term().ensureValidFor(Duration.ofSeconds(1));
        assertThat(asked()).isEqualTo(1);
        work.complete(null);
        assertThat(store.releases()).hasSize(1);
        assertThat(asked()).as("it stands again").isEqualTo(2);
        assertThat(store.acquires().get(1).request().owner())
                .isNotEqualTo(store.acquires().get(0).request().owner());
        assertThat(candidacy.term()).isEmpty();
        assertThat(term().isValid()).isFalse();
        assertThat(ends).as("it has ended the term itself").isEmpty();
        elect();
        assertThat(terms).hasSize(2);
        assertThat(term().fencingToken()).isGreaterThan(terms.get(0).fencingToken());
    }

    @Test
    void itStandsAgainOnlyWhenItsTermWasGivenBack() {
        CompletableFuture<ReleaseReply> later = new CompletableFuture<>();
        store.answersReleasesWith(later);
        stand();
        elect();
        work.complete(null);
        assertThat(store.releases()).hasSize(1);
        assertThat(asked()).isEqualTo(1);
        later.complete(new ReleaseReply.Released());
        assertThat(asked()).isEqualTo(2);
    }

    @Test
    void whenItResignsTheTermIsOverAtOnceAndGivenBackWhenTheCallbackReturns() {
        Candidacy candidacy = stand();
        elect();
        Term resigned = term();
        CompletableFuture<ReleaseOutcome> outcome = candidacy.resignAsync();
        assertThat(resigned.isValid()).isFalse();
        assertThat(resigned.remainingValidity()).isZero();
        assertThatThrownBy(() -> resigned.ensureValidFor(Duration.ofSeconds(1)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("it was released");
        assertThat(ends).containsExactly(new Term.End.Resigned());
        assertThat(candidacy.term()).isEmpty();
        assertThat(store.releases()).as("its callback still runs").isEmpty();
        assertThat(outcome).isNotDone();
        // Another resignation has the same effect.
        assertThat(candidacy.resignAsync()).isNotDone();
        work.complete(null);
        assertThat(outcome).isCompletedWithValue(ReleaseOutcome.RELEASED);
        assertThat(ends).hasSize(1);
        assertThat(asked()).isEqualTo(2);
        assertThat(candidacy.resign()).as("it leads no term").isEqualTo(ReleaseOutcome.ALREADY_LOST);
    }

    @Test
    void aCallbackThatDoesNotReturnKeepsTheLockForItsValidityAtMost() {
        Candidacy candidacy = stand();
        elect();
        runtime.pass(Duration.ofSeconds(1));
        CompletableFuture<ReleaseOutcome> outcome = candidacy.resignAsync();
        runtime.pass(Duration.ofSeconds(20));
        assertThat(store.releases()).isEmpty();
        runtime.pass(Duration.ofSeconds(10));
        assertThat(outcome).isDone();
        assertThat(store.releases()).hasSize(1);
        assertThat(asked()).as("its callback still runs").isEqualTo(1);
        work.complete(null);
        assertThat(asked()).isEqualTo(2);
        assertThat(store.releases()).hasSize(1);
    }

    @Test
    void aLossIsToldAndNothingBeginsBesideTheCallback() {
        Candidacy candidacy = stand();
        elect();
        store.ear().lost(store.acquires().get(0).request().owner(), LossCause.SESSION_LOST);
        assertThat(ends).containsExactly(new Term.End.Lost(LossCause.SESSION_LOST));
        assertThat(term().isValid()).isFalse();
        assertThat(candidacy.term()).isEmpty();
        assertThatThrownBy(() -> term().ensureValidFor(Duration.ofSeconds(1))).isInstanceOf(LeaseLostException.class);
        List<Term.End> late = new ArrayList<>();
        term().onEnd(late::add);
        assertThat(late).as("a late listener is notified, too").containsExactlyElementsOf(ends);
        runtime.pass(Duration.ofMinutes(5));
        assertThat(asked()).isEqualTo(1);
        work.complete(null);
        assertThat(asked()).isEqualTo(2);
    }

    @Test
    void aTermEndsAtItsDeadlineWhenNoRenewalIsAnswered() {
        stand();
        elect();
        runtime.pass(TTL);
        assertThat(ends).containsExactly(new Term.End.Lost(LossCause.EXPIRED));
    }

    @Test
    void aStoreThatFailsDoesNotEndIt() {
        Candidacy candidacy = stand();
        fail(FailureKind.PERMANENT);
        assertThat(candidacy.whenEnded().toCompletableFuture()).isNotDone();
        assertThat(asked()).isEqualTo(1);
        runtime.pass(Duration.ofSeconds(1));
        assertThat(asked()).isEqualTo(2);
        fail(FailureKind.PERMANENT);
        runtime.pass(Duration.ofSeconds(1));
        elect();
        assertThat(terms).hasSize(1);
    }

    @Test
    void aTtlThatTheStoreDoesNotAcceptIsRefusedAtOnceAndEndsALaterAttempt() {
        Candidacy candidacy = stand();
        elect();
        store.accepts(Duration.ofSeconds(1));
        work.complete(null);
        assertThat(candidacy.whenEnded().toCompletableFuture())
                .isCompletedExceptionally()
                .isNotCancelled();
        assertThatThrownBy(this::stand).isInstanceOf(UnsafeStoreException.class);
        assertThat(candidacy.closeAsync()).isCompletedWithValue(null);
    }

    @Test
    void aCallbackThatFailsGivesTheTermBackAndPauses() {
        stand();
        elect();
        work.completeExceptionally(new AssertionError("made by the test"));
        assertThat(store.releases()).hasSize(1);
        assertThat(asked()).as("not at once").isEqualTo(1);
        runtime.pass(Duration.ofSeconds(1));
        assertThat(asked()).isEqualTo(2);
    }

    @Test
    void aCallbackThatThrowsOrReturnsNothingHasFailedToo() {
        client.election(NAME).standAsync(term -> {
            throw new AssertionError("made by the test");
        });
        elect();
        assertThat(store.releases()).hasSize(1);
        client.election("other").standAsync(term -> null);
        elect();
        assertThat(store.releases()).hasSize(2);
    }

    @Test
    void aCallbackThatNoThreadCanBeHadForGivesTheTermBack() {
        LockClient without = Leasehold.builder()
                .store(store)
                .runtime(runtime)
                .workExecutor(work -> {
                    throw new RejectedExecutionException("made by the test");
                })
                .connect();
        without.election(NAME).standAsync(this::lead);
        elect();
        assertThat(terms).isEmpty();
        assertThat(store.releases()).hasSize(1);
        runtime.pass(Duration.ofSeconds(1));
        assertThat(asked()).isEqualTo(2);
    }

    @Test
    void whatIsClosedWhileItStandsLeavesNothing() {
        Candidacy candidacy = stand();
        CompletableFuture<Void> closed = candidacy.closeAsync();
        assertThat(closed).as("its request is under way").isNotDone();
        elect();
        assertThat(terms).as("a late grant").isEmpty();
        assertThat(store.releases()).isNotEmpty();
        assertThat(closed).isCompletedWithValue(null);
        assertThat(candidacy.whenEnded().toCompletableFuture()).isCompleted();
        runtime.pass(Duration.ofMinutes(1));
        assertThat(asked()).isEqualTo(1);
    }

    @Test
    void whatIsClosedWhileItLeadsEndsWithItsCallback() {
        Candidacy candidacy = stand();
        elect();
        CompletableFuture<Void> closed = candidacy.closeAsync();
        assertThat(ends).containsExactly(new Term.End.Resigned());
        assertThat(closed).isNotDone();
        work.complete(null);
        assertThat(closed).isCompletedWithValue(null);
        assertThat(store.releases()).hasSize(1);
        assertThat(asked()).isEqualTo(1);
        candidacy.close();
        assertThat(candidacy.resign()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
    }

    @Test
    void whatIsClosedWhileItPausesEndsAtOnce() {
        Candidacy candidacy = stand();
        fail(FailureKind.PERMANENT);
        assertThat(candidacy.closeAsync()).isCompletedWithValue(null);
        runtime.pass(Duration.ofMinutes(1));
        assertThat(asked()).isEqualTo(1);
    }

    @Test
    void closingTheClientEndsEveryCandidacy() {
        runtime.passesInWaits();
        Candidacy standing = stand();
        Candidacy pausing = client.election("pausing").standAsync(this::lead);
        fail(FailureKind.PERMANENT);
        Candidacy leading = client.election("leading").standAsync(this::lead);
        elect();
        term().onEnd(end -> work.complete(null));
        client.close();
        assertThat(ends).containsExactly(new Term.End.Lost(LossCause.CLIENT_CLOSED));
        for (Candidacy each : List.of(standing, pausing, leading)) {
            assertThat(each.whenEnded().toCompletableFuture()).isCompletedWithValue(null);
        }
        assertThatThrownBy(this::stand).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void aResignationThatWasNotAnsweredMayBeRepeated() {
        store.answersReleases(
                new ReleaseReply.Failed(FailureKind.UNKNOWN, new StoreUnavailableException("made by the test", null)));
        Candidacy candidacy = stand();
        elect();
        long token = term().fencingToken();
        CompletableFuture<ReleaseOutcome> outcome = candidacy.resignAsync();
        work.complete(null);
        assertThat(outcome).isCompletedWithValue(ReleaseOutcome.UNCONFIRMED);
        store.tells(NAME, new Holder(client.holderId(), TTL, OptionalLong.of(token)));
        assertThat(candidacy.resign()).isEqualTo(ReleaseOutcome.UNCONFIRMED);
        store.tells(NAME, new Holder("another", TTL, OptionalLong.of(token + 1)));
        assertThat(candidacy.resign()).isEqualTo(ReleaseOutcome.RELEASED);
        store.tells(NAME, null);
        assertThat(candidacy.resign()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void aLeaderLeadsWithoutLimitUnlessItIsSet() {
        assertThat(client.election(NAME).options().maxHold()).isGreaterThan(Duration.ofDays(365));
        assertThat(client.election(NAME)
                        .with(options -> options.maxHold(Duration.ofHours(1)))
                        .options()
                        .maxHold())
                .isEqualTo(Duration.ofHours(1));
        assertThat(client.election("scheduler").name()).isEqualTo(NAME);
        assertThatThrownBy(() -> client.election("")).isInstanceOf(IllegalArgumentException.class);
    }
}
