package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.Attempt;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.MultiLease;
import io.leasehold.MultiLock;
import io.leasehold.NodeVote;
import io.leasehold.ReleaseOutcome;
import io.leasehold.Renewal;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Several locks, all or none: acquired at once if the store can do that, else one after the other. An attempt that ends
 * leaves nothing behind.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
@Timeout(60)
final class SeveralLocksTest {

    private static final LockName A = LockName.exactly("a");
    private static final LockName B = LockName.exactly("b");
    private static final LockName C = LockName.exactly("c");

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final List<String> news = new ArrayList<>();
    /** Runs while an attempt on {@link #B} begins. */
    private Runnable whileBBegins = () -> {};

    private final LockListener listener = new LockListener() {
        @Override
        public void attemptBegan(AttemptBegan event) {
            news.add("began " + event.name());
            if (event.name().equals(B)) {
                whileBBegins.run();
            }
        }

        @Override
        public void attemptEnded(AttemptEnded event) {
            news.add(event.outcome() + " " + event.name() + " after "
                    + event.waited().toSeconds());
        }
    };

    private final LockClient client = Leasehold.builder()
            .store(store)
            .runtime(runtime)
            .listener(listener)
            .defaults(LockOptions.defaults().ttl(Duration.ofSeconds(30)))
            .connect();

    private MultiLock both() {
        return client.all(B, A, B);
    }

    private SilentStore.Asked<AcquireRequest, AcquireReply> last() {
        return store.acquires().get(store.acquires().size() - 1);
    }

    private void answer(AcquireReply reply) {
        last().answer().complete(reply);
    }

    private void grant(long token) {
        grant(token, runtime.nanoTime());
    }

    private void grant(long token, long sentAtNanos) {
        answer(new AcquireReply.Granted(
                new Grant(last().request().owner(), TokenRange.of(token, 1), sentAtNanos, Incarnation.DURABLE),
                List.of()));
    }

    private static AcquireReply busy() {
        return new AcquireReply.Busy(null, 7, List.of());
    }

    private List<LockName> names() {
        return last().request().names();
    }

    /** Asserts that an undo has ended the owner token of this request. */
    private void assertUndone(int asked, long ballot) {
        assertThat(store.releases()).isNotEmpty().last().satisfies(request -> {
            assertThat(request.owner())
                    .isEqualTo(store.acquires().get(asked).request().owner());
            assertThat(request.names())
                    .isEqualTo(store.acquires().get(asked).request().names());
            assertThat(request.kind()).isEqualTo(ReleaseRequest.Kind.UNDO);
            assertThat(request.ballot()).isEqualTo(ballot);
        });
    }

    // ---- at once

    /** A grant counts from the sending of its request, and the machine slept since. */
    @Test
    void aSleepDuringTheRequestLeavesNothingValid() {
        CompletableFuture<MultiLease> wanted = both().acquireAsync();
        long askedAtNanos = runtime.nanoTime();
        runtime.suspend(Duration.ofHours(1));
        grant(5, askedAtNanos);
        assertThat(wanted.join().isValid()).isFalse();
    }

    @Test
    void theyAreGrantedInOneRequestWhereTheStoreCan() {
        CompletableFuture<MultiLease> wanted = both().acquireAsync();
        assertThat(names()).as("sorted, each once").containsExactly(A, B);
        runtime.pass(Duration.ofSeconds(2));
        grant(5);
        assertThat(wanted.join().lockNames()).containsExactly(A, B);
        assertThat(wanted.join().fencingToken(B)).isEqualTo(5);
        assertThatThrownBy(() -> wanted.join().fencingToken(C)).isInstanceOf(IllegalArgumentException.class);
        assertThat(news).containsExactly("began a", "ACQUIRED a after 2", "began b", "ACQUIRED b after 2");
        assertThat(store.acquires()).hasSize(1);
        assertThat(store.releases()).isEmpty();
    }

    @Test
    void ifOneIsBusyTheyAreTakenOneAfterTheOtherAndPatienceCountsForAll() {
        CompletableFuture<Attempt<MultiLease>> wanted = both().attemptAsync(Duration.ofSeconds(10));
        runtime.pass(Duration.ofSeconds(4));
        answer(busy());
        assertThat(names()).containsExactly(A);
        assertThat(store.releases()).as("nothing was granted").isEmpty();
        grant(6);
        assertThat(names()).containsExactly(B);
        runtime.pass(Duration.ofSeconds(6));
        assertThat(wanted).isNotDone();
        answer(busy());
        Attempt.Busy<MultiLease> over = (Attempt.Busy<MultiLease>) wanted.join();
        assertThat(over.lockName()).isEqualTo(B);
        assertThat(over.waited()).isEqualTo(Duration.ofSeconds(10));
        assertThat(store.releases()).as("the part is released").hasSize(1);
        assertThat(store.releases().get(0).names()).containsExactly(A);
        assertThat(store.releases().get(0).kind()).isEqualTo(ReleaseRequest.Kind.RELEASE);
    }

    @Test
    void withoutPatienceEachIsAskedForOnce() {
        CompletableFuture<Attempt<MultiLease>> wanted = both().attemptAsync(Duration.ZERO);
        answer(busy());
        grant(6);
        assertThat(wanted).isNotDone();
        answer(busy());
        assertThat(wanted.join().orElseNull()).isNull();
        assertThat(store.acquires()).hasSize(3);
        assertThat(store.releases()).hasSize(1);
    }

    /** If too few replicas have the grant, for example, it does not count, and must not block the next request. */
    @Test
    void whatWasGrantedAndDoesNotCountIsUndoneBeforeTheyAreTakenOneAfterTheOther() {
        CompletableFuture<MultiLease> wanted = both().acquireAsync();
        answer(new AcquireReply.Refused("0 of 1 replicas", 0, 9, List.of(), true));
        assertUndone(0, 9);
        assertThat(names()).containsExactly(A);
        grant(10);
        grant(11);
        assertThat(wanted).isCompleted();
    }

    /** Requests for one lock after the other would find them busy with the remains that are still being undone. */
    @Test
    void withoutPatienceWhatDoesNotCountIsToldAndNotTakenForThatOfAnother() {
        CompletableFuture<Attempt<MultiLease>> refused = both().attemptAsync(Duration.ZERO);
        answer(new AcquireReply.Refused("0 of 1 replicas", 0, 9, List.of(), true));
        assertThatThrownBy(refused::join)
                .hasCauseInstanceOf(StoreUnavailableException.class)
                .hasMessageContainingAll("[a, b]", "silent:", "0 of 1 replicas");
        assertUndone(0, 9);

        CompletableFuture<Attempt<MultiLease>> slow = both().attemptAsync(Duration.ZERO);
        grant(10, runtime.nanoTime() - Duration.ofSeconds(30).toNanos());
        assertThatThrownBy(slow::join)
                .hasCauseInstanceOf(StoreUnavailableException.class)
                .hasMessageContainingAll("[a, b]", "too slowly");
        assertUndone(1, 10);

        CompletableFuture<Attempt<MultiLease>> broken = both().attemptAsync(Duration.ZERO);
        last().answer().completeExceptionally(new IllegalStateException("made by the test"));
        assertThatThrownBy(broken::join)
                .hasCauseInstanceOf(AmbiguousAcquireException.class)
                .hasMessageContainingAll("[a, b]", "made by the test");
        assertUndone(2, 0);

        assertThat(store.acquires()).as("each is requested once").hasSize(3);
        assertThat(news)
                .containsExactly(
                        "began a",
                        "ERROR a after 0",
                        "began b",
                        "ERROR b after 0",
                        "began a",
                        "ERROR a after 0",
                        "began b",
                        "ERROR b after 0",
                        "began a",
                        "AMBIGUOUS a after 0",
                        "began b",
                        "AMBIGUOUS b after 0");
    }

    @Test
    void aRefusalThatGrantedNothingIsNotUndone() {
        both().acquireAsync();
        answer(new AcquireReply.Refused("quarantine", 0, 9, List.of()));
        assertThat(store.releases()).isEmpty();
        assertThat(names()).containsExactly(A);
    }

    @Test
    void aFailureIsToldAndUndoneOrTheyAreTakenOneAfterTheOther() {
        CompletableFuture<MultiLease> forbidden = both().acquireAsync();
        answer(new AcquireReply.Failed(FailureKind.PERMANENT, new StoreAccessException("NOPERM", null), 0));
        assertThatThrownBy(forbidden::join).hasCauseInstanceOf(StoreAccessException.class);
        assertThat(news).containsExactly("began a", "ERROR a after 0", "began b", "ERROR b after 0");
        news.clear();

        CompletableFuture<Attempt<MultiLease>> unknown = both().attemptAsync(Duration.ZERO);
        NodeVote vote = new NodeVote("n", NodeVote.Answer.FAILED, "");
        answer(new AcquireReply.Failed(
                FailureKind.UNKNOWN, new StoreUnavailableException("no answer", List.of(vote), null), 9));
        assertThatThrownBy(unknown::join)
                .hasCauseInstanceOf(AmbiguousAcquireException.class)
                .hasMessageContainingAll("[a, b]", "silent:", "no answer");
        assertThat(news).containsExactly("began a", "AMBIGUOUS a after 0", "began b", "AMBIGUOUS b after 0");
        assertUndone(1, 9);

        CompletableFuture<Attempt<MultiLease>> away = both().attemptAsync(Duration.ZERO);
        answer(new AcquireReply.Failed(FailureKind.NO_EFFECT, new StoreUnavailableException("away", null), 0));
        assertThatThrownBy(away::join)
                .hasCauseInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("away");

        CompletableFuture<MultiLease> patient = both().acquireAsync();
        answer(new AcquireReply.Failed(FailureKind.UNKNOWN, new StoreUnavailableException("no answer", null), 12));
        assertUndone(3, 12);
        assertThat(names()).containsExactly(A);
        grant(20);
        grant(21);
        assertThat(patient).isCompleted();
    }

    @Test
    void anAnswerThatNeverWasIsUndoneToo() {
        both().acquireAsync();
        last().answer().completeExceptionally(new IllegalStateException("made by the test"));
        assertUndone(0, 0);
        assertThat(names()).containsExactly(A);
    }

    /** As with a lease of one lock, a grant with less than the least validity is released. */
    @Test
    void aGrantThatCameTooSlowlyIsGivenBack() {
        long least = Timings.of(LockOptions.defaults().ttl(Duration.ofSeconds(30)), false)
                .minimumValidityNanos();
        long valid = Timings.of(LockOptions.defaults().ttl(Duration.ofSeconds(30)), false)
                .validityNanos();
        CompletableFuture<MultiLease> slow = both().acquireAsync();
        grant(5, runtime.nanoTime() - (valid - least) - 1);
        assertThat(slow).isNotDone();
        assertUndone(0, 5);
        slow.cancel(false);
        CompletableFuture<MultiLease> inTime = both().acquireAsync();
        grant(5, runtime.nanoTime() - (valid - least));
        assertThat(inTime).isCompleted();
    }

    // ---- withdrawing

    @Test
    void whoLeavesWhileAllAreAskedForLeavesNothing() {
        CompletableFuture<MultiLease> wanted = both().acquireAsync();
        wanted.cancel(false);
        assertThat(store.releases()).isEmpty();
        grant(5);
        assertUndone(0, 5);
        assertThat(store.acquires()).hasSize(1);
        assertThat(news).containsExactly("began a", "INTERRUPTED a after 0", "began b", "INTERRUPTED b after 0");
        runtime.pass(Duration.ofMinutes(1));
        assertThat(store.renewals()).isEmpty();
    }

    @Test
    void whoLeavesWhileOneIsWaitedForGivesBackTheOthers() {
        CompletableFuture<MultiLease> wanted = both().acquireAsync();
        answer(busy());
        grant(5);
        assertThat(names()).containsExactly(B);
        wanted.cancel(false);
        assertThat(store.releases()).hasSize(1);
        assertThat(store.releases().get(0).names()).containsExactly(A);
        grant(6);
        assertUndone(2, 6);
        runtime.pass(Duration.ofMinutes(1));
        assertThat(store.renewals()).isEmpty();
        assertThat(store.acquires()).hasSize(3);
    }

    /** The attempt that is withdrawn does not know the attempt on the next part yet, which would wait on its own. */
    @Test
    void whoLeavesWhileTheNextPartIsEnteredLeavesNoWaiter() {
        store.isNotAtomic();
        CompletableFuture<MultiLease> wanted = both().acquireAsync();
        whileBBegins = () -> wanted.cancel(false);
        grant(5);
        assertThat(wanted).isCancelled();
        assertThat(names()).containsExactly(B);
        answer(busy());
        runtime.pass(Duration.ofMinutes(10));
        assertThat(store.acquires()).as("it is not asked again").hasSize(2);
        assertThat(store.releases().get(0).names()).containsExactly(A);
    }

    @Test
    void theCloseOfTheClientEndsTheAttemptAndLeavesNothing() {
        CompletableFuture<MultiLease> wanted = both().acquireAsync();
        answer(busy());
        grant(5);
        answer(busy());
        runtime.passesInWaits();
        client.close();
        assertThatThrownBy(wanted::join)
                .hasCauseInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
        assertThat(store.releases()).hasSize(1);
        assertThat(both().options().ttl()).isEqualTo(Duration.ofSeconds(30));
        assertThatThrownBy(() -> both().acquireAsync()).isInstanceOf(IllegalStateException.class);
    }

    // ---- one after the other

    /** The first part may have ended during the wait for the last; then all are acquired again. */
    @Test
    void aPartThatEndedSendsItBackToTheBeginning() {
        store.isNotAtomic();
        MultiLock fixed = both().with(o -> o.renewal(Renewal.none()));
        CompletableFuture<MultiLease> wanted = fixed.acquireAsync();
        assertThat(names()).containsExactly(A);
        grant(5);
        runtime.pass(Duration.ofSeconds(31));
        grant(6);
        assertThat(wanted).isNotDone();
        assertThat(store.releases()).as("both are released").hasSize(2);
        assertThat(names()).containsExactly(A);
        grant(7);
        assertThat(names()).containsExactly(B);
        grant(8);
        assertThat(wanted.join().fencingToken(A)).isEqualTo(7);
        assertThat(wanted.join().isValid()).isTrue();
    }

    @Test
    void ifItsTimeIsOverThenItWasBusy() {
        store.isNotAtomic();
        MultiLock fixed = both().with(o -> o.renewal(Renewal.none()));
        CompletableFuture<Attempt<MultiLease>> wanted = fixed.attemptAsync(Duration.ofSeconds(31));
        grant(5);
        runtime.pass(Duration.ofSeconds(31));
        grant(6);
        Attempt.Busy<MultiLease> over = (Attempt.Busy<MultiLease>) wanted.join();
        assertThat(over.lockName()).isEqualTo(A);
        assertThat(over.waited()).isEqualTo(Duration.ofSeconds(31));
        assertThat(store.releases()).hasSize(2);
    }

    // ---- the lease

    private MultiLease held() {
        store.isNotAtomic();
        CompletableFuture<MultiLease> wanted = both().acquireAsync();
        grant(5);
        runtime.pass(Duration.ofSeconds(3));
        grant(6);
        return wanted.join();
    }

    @Test
    void itIsAsGoodAsItsWorstPart() {
        MultiLease lease = held();
        List<Duration> risks = new ArrayList<>();
        List<LossCause> losses = new ArrayList<>();
        lease.onAtRisk(risks::add);
        lease.onLost(losses::add);
        Duration valid = Duration.ofNanos(Timings.of(LockOptions.defaults().ttl(Duration.ofSeconds(30)), false)
                .validityNanos());
        assertThat(lease.remainingValidity()).isEqualTo(valid.minusSeconds(3));
        assertThat(lease.isValid()).isTrue();
        CompletableFuture<Void> renewal = lease.renewAsync();
        assertThat(store.renewals()).hasSize(2);
        store.renewals().get(0).answer().complete(new RenewReply(List.of(new RenewReply.Renewed(runtime.nanoTime()))));
        assertThat(renewal).isNotDone();
        store.renewals().get(1).answer().complete(new RenewReply(List.of(new RenewReply.Renewed(runtime.nanoTime()))));
        assertThat(renewal).isCompleted();
        assertThat(lease.remainingValidity()).isEqualTo(valid);
        store.ear().suspended(store.acquires().get(1).request().owner());
        assertThat(risks).hasSize(1);
        store.ear().lost(store.acquires().get(1).request().owner(), LossCause.SESSION_LOST);
        assertThat(losses).containsExactly(LossCause.SESSION_LOST);
        assertThat(lease.isValid()).isFalse();
        assertThat(lease.remainingValidity()).isZero();
        assertThatThrownBy(() -> lease.ensureValidFor(Duration.ZERO)).hasMessageContaining("b");
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
        assertThat(lease.toString()).contains("a", "b");
    }

    @Test
    void itsOutcomeIsTheWorstOfAll() {
        MultiLease lost = held();
        store.ear().lost(store.acquires().get(0).request().owner(), LossCause.SESSION_LOST);
        assertThat(lost.releaseAsync()).isCompletedWithValue(ReleaseOutcome.ALREADY_LOST);
        MultiLease unconfirmed = held();
        store.answersReleases(new ReleaseReply.Failed(FailureKind.UNKNOWN, new StoreUnavailableException("no", null)));
        assertThat(unconfirmed.releaseAsync()).isCompletedWithValue(ReleaseOutcome.UNCONFIRMED);
        store.answersReleases(new ReleaseReply.Released());
        assertThat(held().releaseAsync()).isCompletedWithValue(ReleaseOutcome.RELEASED);
    }
}
