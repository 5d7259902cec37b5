package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Candidacy;
import io.leasehold.HandOverOutcome;
import io.leasehold.Holder;
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
import io.leasehold.spi.SuccessorReply;
import io.leasehold.spi.SuccessorRequest;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A leader hands over to a named candidate, step by step; time passes only when the test says so. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class NamedHandOverTest {

    private static final LockName NAME = LockName.exactly("scheduler");
    private static final Duration TTL = Duration.ofSeconds(30);
    private static final String HEIR = "host/2/heir";

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

    private Candidacy elected() {
        Candidacy candidacy = client.election(NAME).standAsync(this::lead);
        elect();
        return candidacy;
    }

    private void elect() {
        int asked = store.acquires().size();
        var request = store.acquires().get(asked - 1);
        request.answer()
                .complete(new AcquireReply.Granted(
                        new Grant(
                                request.request().owner(),
                                TokenRange.of(100L * asked, 64),
                                runtime.nanoTime(),
                                Incarnation.DURABLE),
                        List.of()));
    }

    private int asked() {
        return store.acquires().size();
    }

    private CompletableFuture<SuccessorReply> lastNaming() {
        return store.successors().get(store.successors().size() - 1).answer();
    }

    private static SuccessorReply failed(FailureKind kind) {
        return new SuccessorReply.Failed(kind, new StoreUnavailableException("made by the test", null));
    }

    @Test
    void theSuccessorIsNamedWhenTheCallbackHasReturnedAndBeforeTheRelease() {
        Candidacy candidacy = elected();
        CompletableFuture<HandOverOutcome> outcome = candidacy.handOverAsync(HEIR);
        assertThat(terms.get(0).isValid()).isFalse();
        assertThat(ends).containsExactly(new Term.End.Resigned());
        assertThat(candidacy.term()).isEmpty();
        assertThat(store.successors()).as("its callback still runs").isEmpty();
        work.complete(null);
        SuccessorRequest request = store.successors().get(0).request();
        assertThat(request.name()).isEqualTo(NAME);
        assertThat(request.owner()).isEqualTo(store.acquires().get(0).request().owner());
        assertThat(request.holderId()).isEqualTo(HEIR);
        assertThat(store.releases()).isEmpty();
        lastNaming().complete(new SuccessorReply.First());
        assertThat(store.releases()).hasSize(1);
        assertThat(outcome).isCompletedWithValue(HandOverOutcome.HANDED_OVER);
        assertThat(asked()).as("it stands again").isEqualTo(2);
        assertThat(candidacy.handOver(HEIR)).as("it leads no term").isEqualTo(HandOverOutcome.ALREADY_LOST);
        assertThat(store.successors()).hasSize(1);
    }

    @Test
    void whoDoesNotWaitDoesNotKeepTheOthersWaiting() {
        Candidacy candidacy = elected();
        for (SuccessorReply reply :
                List.of(new SuccessorReply.NotWaiting(), new SuccessorReply.NotOurs(), failed(FailureKind.PERMANENT))) {
            int releases = store.releases().size();
            CompletableFuture<HandOverOutcome> outcome = candidacy.handOverAsync(HEIR);
            work.complete(null);
            lastNaming().complete(reply);
            assertThat(store.releases()).hasSize(releases + 1);
            assertThat(outcome).isCompletedWithValue(HandOverOutcome.RELEASED);
            elect();
        }
    }

    /** The reply is lost, or the store is away: the request is repeated, as long as the store may take for one. */
    @Test
    void anUnansweredRequestIsRepeatedAndDoesNotKeepTheLockForLong() {
        Candidacy candidacy = elected();
        CompletableFuture<HandOverOutcome> outcome = candidacy.handOverAsync(HEIR);
        work.complete(null);
        lastNaming().complete(failed(FailureKind.UNKNOWN));
        assertThat(store.successors()).hasSize(1);
        runtime.pass(Duration.ofMillis(10));
        assertThat(store.successors()).hasSize(2);
        assertThat(store.successors().get(1).request())
                .isEqualTo(store.successors().get(0).request());
        lastNaming().complete(new SuccessorReply.First());
        assertThat(outcome).isCompletedWithValue(HandOverOutcome.HANDED_OVER);

        elect();
        outcome = candidacy.handOverAsync(HEIR);
        work.complete(null);
        for (int i = 0; i < 1_000 && !outcome.isDone(); i++) {
            lastNaming().complete(failed(FailureKind.NO_EFFECT));
            runtime.pass(Duration.ofMillis(10));
        }
        assertThat(outcome).isCompletedWithValue(HandOverOutcome.RELEASED);
        assertThat(store.releases()).hasSize(2);
    }

    @Test
    void aStoreThatThrowsReleasesTheLockAllTheSame() {
        Candidacy candidacy = elected();
        CompletableFuture<HandOverOutcome> outcome = candidacy.handOverAsync(HEIR);
        store.failNext(new OutOfMemoryError("made by the test"));
        work.complete(null);
        runtime.pass(Duration.ofMillis(10));
        lastNaming().completeExceptionally(new IllegalStateException("made by the test"));
        store.returnsNoFuture(1);
        runtime.pass(Duration.ofMillis(20));
        runtime.pass(Duration.ofMillis(40));
        lastNaming().complete(new SuccessorReply.NotWaiting());
        assertThat(outcome).isCompletedWithValue(HandOverOutcome.RELEASED);
        assertThat(store.releases()).hasSize(1);
    }

    @Test
    void aCallbackThatDoesNotReturnDelaysItForItsValidityAtMost() {
        Candidacy candidacy = elected();
        CompletableFuture<HandOverOutcome> outcome = candidacy.handOverAsync(HEIR);
        runtime.pass(Duration.ofSeconds(20));
        assertThat(store.successors()).isEmpty();
        runtime.pass(Duration.ofSeconds(10));
        assertThat(store.successors()).hasSize(1);
        lastNaming().complete(new SuccessorReply.First());
        assertThat(outcome).isDone();
        assertThat(asked()).as("its callback still runs").isEqualTo(1);
        work.complete(null);
        assertThat(asked()).isEqualTo(2);
    }

    @Test
    void itsOwnCallbackNeedNotReturn() {
        List<CompletableFuture<HandOverOutcome>> outcomes = new ArrayList<>();
        List<Candidacy> candidacies = new ArrayList<>();
        candidacies.add(client.election(NAME).standAsync(term -> {
            outcomes.add(candidacies.get(0).handOverAsync(HEIR));
            assertThat(term.isValid()).isFalse();
            assertThat(store.successors()).hasSize(1);
            lastNaming().complete(new SuccessorReply.First());
            assertThat(store.releases()).hasSize(1);
            return work;
        }));
        elect();
        assertThat(outcomes.get(0)).isCompletedWithValue(HandOverOutcome.HANDED_OVER);
        assertThat(asked()).isEqualTo(1);
        work.complete(null);
        assertThat(asked()).isEqualTo(2);
    }

    @Test
    void theFirstCallOfATermDecides() {
        Candidacy candidacy = elected();
        CompletableFuture<ReleaseOutcome> resigned = candidacy.resignAsync();
        CompletableFuture<HandOverOutcome> first = candidacy.handOverAsync(HEIR);
        CompletableFuture<HandOverOutcome> again = candidacy.handOverAsync(HEIR);
        CompletableFuture<HandOverOutcome> other = candidacy.handOverAsync("host/3/other");
        work.complete(null);
        assertThat(store.successors()).hasSize(1);
        assertThat(store.successors().get(0).request().holderId()).isEqualTo(HEIR);
        CompletableFuture<HandOverOutcome> late = candidacy.handOverAsync("host/3/other");
        lastNaming().complete(new SuccessorReply.First());
        assertThat(resigned).isCompletedWithValue(ReleaseOutcome.RELEASED);
        assertThat(first).isCompletedWithValue(HandOverOutcome.HANDED_OVER);
        assertThat(other).isCompletedWithValue(HandOverOutcome.RELEASED);
        assertThat(again).isCompletedWithValue(HandOverOutcome.HANDED_OVER);
        assertThat(late).isCompletedWithValue(HandOverOutcome.RELEASED);
        assertThat(store.releases()).hasSize(1);
    }

    @Test
    void aResignationAloneNamesNoSuccessor() {
        Candidacy candidacy = elected();
        candidacy.resignAsync();
        work.complete(null);
        assertThat(store.successors()).isEmpty();
        assertThat(store.releases()).hasSize(1);
    }

    @Test
    void aTermThatWasLostIsNotHandedOver() {
        Candidacy candidacy = elected();
        store.ear().lost(store.acquires().get(0).request().owner(), LossCause.SESSION_LOST);
        assertThat(candidacy.handOver(HEIR)).isEqualTo(HandOverOutcome.ALREADY_LOST);
        assertThat(candidacy.handOverAsync(HEIR)).isCompletedWithValue(HandOverOutcome.ALREADY_LOST);
        assertThat(ends).containsExactly(new Term.End.Lost(LossCause.SESSION_LOST));
    }

    @Test
    void aTermThatIsLostWhileTheSuccessorIsNamedIsReportedAsLost() {
        Candidacy candidacy = elected();
        CompletableFuture<HandOverOutcome> outcome = candidacy.handOverAsync(HEIR);
        work.complete(null);
        store.ear().lost(store.acquires().get(0).request().owner(), LossCause.FORCE_RELEASED);
        lastNaming().complete(new SuccessorReply.NotOurs());
        assertThat(outcome).isCompletedWithValue(HandOverOutcome.ALREADY_LOST);
        assertThat(asked()).isEqualTo(2);
    }

    @Test
    void whatCannotBeDoneIsRefusedAndTheCandidateStillLeads() {
        Candidacy candidacy = elected();
        assertThatThrownBy(() -> candidacy.handOver(client.holderId()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("still leads");
        assertThat(candidacy.handOverAsync(client.holderId()))
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .withCauseInstanceOf(IllegalArgumentException.class);
        assertThat(client.namesSuccessors()).isTrue();
        store.namesSuccessors = false;
        assertThat(client.namesSuccessors()).isFalse();
        assertThatThrownBy(() -> candidacy.handOver(HEIR))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("Resign instead");
        assertThat(candidacy.handOverAsync(HEIR))
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .withCauseInstanceOf(UnsafeStoreException.class);
        assertThatThrownBy(() -> candidacy.handOverAsync(null)).isInstanceOf(NullPointerException.class);
        assertThat(terms.get(0).isValid()).isTrue();
        assertThat(ends).isEmpty();
        assertThat(store.successors()).isEmpty();
    }

    @Test
    void anUnconfirmedReleaseIsReportedAndMayBeAskedForAgain() {
        store.answersReleases(
                new ReleaseReply.Failed(FailureKind.UNKNOWN, new StoreUnavailableException("made by the test", null)));
        Candidacy candidacy = elected();
        long token = terms.get(0).fencingToken();
        CompletableFuture<HandOverOutcome> outcome = candidacy.handOverAsync(HEIR);
        work.complete(null);
        lastNaming().complete(new SuccessorReply.First());
        assertThat(outcome).isCompletedWithValue(HandOverOutcome.UNCONFIRMED);
        store.tells(NAME, new Holder(HEIR, TTL, OptionalLong.of(token + 1)));
        assertThat(candidacy.handOver(HEIR)).isEqualTo(HandOverOutcome.HANDED_OVER);
        assertThat(candidacy.handOver("host/3/other")).isEqualTo(HandOverOutcome.RELEASED);
        assertThat(store.successors()).hasSize(1);
    }

    /** Its own process has a candidate, too, which would be the next within the process. */
    @Test
    void theLockIsNotPassedOnWithinTheProcess() {
        Candidacy candidacy = elected();
        List<Term> here = new ArrayList<>();
        client.election(NAME).standAsync(term -> {
            here.add(term);
            return new CompletableFuture<>();
        });
        CompletableFuture<HandOverOutcome> outcome = candidacy.handOverAsync(HEIR);
        work.complete(null);
        lastNaming().complete(new SuccessorReply.First());
        assertThat(here).isEmpty();
        assertThat(store.releases()).hasSize(1);
        assertThat(outcome).isCompletedWithValue(HandOverOutcome.HANDED_OVER);
    }

    @Test
    void aClientThatClosesMeanwhileEndsTheCandidacy() {
        runtime.passesInWaits();
        Candidacy candidacy = elected();
        CompletableFuture<HandOverOutcome> outcome = candidacy.handOverAsync(HEIR);
        work.complete(null);
        assertThat(store.successors()).hasSize(1);
        client.close();
        assertThat(outcome).isDone();
        assertThat(candidacy.whenEnded().toCompletableFuture()).isCompletedWithValue(null);
    }

    @Test
    void theLimitOfAListOfCandidatesIsPositive() {
        assertThatThrownBy(() -> client.election(NAME).candidates(0)).isInstanceOf(IllegalArgumentException.class);
        assertThat(client.election(NAME).candidates(1)).isEmpty();
    }
}
