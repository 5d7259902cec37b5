package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.Lease;
import io.leasehold.LeaseTicket;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.ReleaseOutcome;
import io.leasehold.StoreUnavailableException;
import io.leasehold.TicketRefusedException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the continuation of an exported lease ({@link LockClient#resume}). */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
@Timeout(60)
final class ResumeTest {

    private static final LockName NAME = LockName.exactly("a");
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final List<String> news = new ArrayList<>();

    private final LockListener listener = new LockListener() {
        @Override
        public void attemptBegan(AttemptBegan event) {
            news.add("began");
        }

        @Override
        public void attemptEnded(AttemptEnded event) {
            news.add(event.outcome().name());
        }
    };

    private final LockClient client = Leasehold.builder()
            .store(store)
            .runtime(runtime)
            .listener(listener)
            .defaults(LockOptions.defaults().ttl(Duration.ofSeconds(30)))
            .connect();

    private static LeaseTicket ticket(String digit) {
        return LeaseTicket.of(NAME, digit.repeat(40), Duration.ofMinutes(2), "elsewhere:");
    }

    private SilentStore.Asked<AcquireRequest, AcquireReply> asked(int index) {
        assertThat(store.resumes()).hasSizeGreaterThan(index);
        return store.resumes().get(index);
    }

    private AcquireReply granted(int index, long token) {
        OwnerToken owner = asked(index).request().owner();
        return new AcquireReply.Granted(
                new Grant(owner, TokenRange.of(token, 1), runtime.nanoTime(), Incarnation.DURABLE), List.of());
    }

    private static AcquireReply failed(FailureKind kind, long ballot) {
        return new AcquireReply.Failed(kind, new StoreUnavailableException("made by the test", null), ballot);
    }

    private static Throwable failure(CompletableFuture<?> future) {
        try {
            future.getNow(null);
        } catch (CancellationException e) {
            return e;
        } catch (CompletionException e) {
            return e.getCause();
        }
        throw new AssertionError("it has not failed: " + future);
    }

    @Test
    void theLeaseBeginsWithTheAnswerAndIsRenewedAndReleasedLikeAnyOther() {
        CompletableFuture<Lease> resumed = client.resumeAsync(ticket("a"), PATIENCE);
        assertThat(asked(0).request().names()).containsExactly(NAME);
        assertThat(asked(0).request().owner()).isNotEqualTo(OwnerToken.fromHex("a".repeat(40)));
        assertThat(asked(0).request().isWaiting()).isFalse();
        asked(0).answer().complete(granted(0, 77));
        Lease lease = resumed.join();
        assertThat(lease.fencingToken()).isEqualTo(77);
        assertThat(lease.isValid()).isTrue();
        assertThat(news).containsExactly("began", "ACQUIRED");
        runtime.pass(Duration.ofSeconds(11));
        assertThat(store.renewals()).hasSize(1);
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(store.acquires()).as("a resume never acquires").isEmpty();
    }

    @Test
    void theBlockingFormGivesTheLease() throws InterruptedException {
        runtime.schedule(5, () -> asked(0).answer().complete(granted(0, 77)));
        runtime.passesInWaits();
        assertThat(client.resume(ticket("a"), PATIENCE).fencingToken()).isEqualTo(77);
    }

    @Test
    void aTicketThatTheStoreDoesNotKnowIsRefused() {
        CompletableFuture<Lease> resumed = client.resumeAsync(ticket("a"), PATIENCE);
        asked(0).answer().complete(new AcquireReply.Busy(null, 3, List.of()));
        assertThat(failure(resumed)).isInstanceOf(TicketRefusedException.class).hasMessageContaining("elsewhere:");
        assertThat(news).containsExactly("began", "ERROR");
        assertThat(store.releases()).as("nothing is undone").isEmpty();
    }

    @Test
    void aLostAnswerIsRequestedAgainWithTheSameOwnerTokenAndALargerBallot() {
        CompletableFuture<Lease> resumed = client.resumeAsync(ticket("a"), PATIENCE);
        asked(0).answer().complete(failed(FailureKind.UNKNOWN, 70));
        runtime.pass(Duration.ofMillis(10));
        assertThat(asked(1).request().owner()).isEqualTo(asked(0).request().owner());
        assertThat(asked(1).request().ballotSoFar()).isEqualTo(70);
        asked(1).answer().complete(granted(1, 71));
        assertThat(resumed.join().fencingToken()).isEqualTo(71);
    }

    @Test
    void zeroPatienceIsOneRoundTrip() {
        CompletableFuture<Lease> resumed = client.resumeAsync(ticket("a"), Duration.ZERO);
        asked(0).answer().complete(failed(FailureKind.NO_EFFECT, 0));
        assertThat(failure(resumed)).isInstanceOf(StoreUnavailableException.class);
        runtime.pass(PATIENCE);
        assertThat(store.resumes()).hasSize(1);
    }

    /** The variant resume-undone of the formal model. */
    @Test
    void anAttemptWithoutAnAnswerIsNotUndoneAndTheNextOneContinuesIt() {
        CompletableFuture<Lease> resumed = client.resumeAsync(ticket("a"), Duration.ZERO);
        asked(0).answer().complete(failed(FailureKind.UNKNOWN, 70));
        assertThat(failure(resumed)).isInstanceOf(AmbiguousAcquireException.class);
        assertThat(news).containsExactly("began", "AMBIGUOUS");
        runtime.pass(Duration.ofMinutes(1));
        assertThat(store.releases()).isEmpty();

        CompletableFuture<Lease> other = client.resumeAsync(ticket("b"), Duration.ZERO);
        CompletableFuture<Lease> again = client.resumeAsync(ticket("a"), Duration.ZERO);
        assertThat(asked(1).request().owner()).isNotEqualTo(asked(0).request().owner());
        assertThat(asked(2).request().owner()).isEqualTo(asked(0).request().owner());
        assertThat(asked(2).request().ballotSoFar()).isEqualTo(70);
        CompletableFuture<Lease> third = client.resumeAsync(ticket("a"), Duration.ZERO);
        assertThat(store.resumes()).as("one attempt at a time").hasSize(3);
        asked(2).answer().complete(granted(2, 71));
        assertThat(again).isCompleted();
        assertThat(other).isNotDone();
        assertThat(asked(3).request().owner())
                .as("two attempts never share an owner token that has the lock")
                .isNotEqualTo(asked(0).request().owner());
        asked(3).answer().complete(new AcquireReply.Busy(null, 3, List.of()));
        assertThat(failure(third)).isInstanceOf(TicketRefusedException.class);
    }

    /** The variant resume-beside-another: a fresh owner token is refused while the withdrawn one wins. */
    @Test
    void anAttemptWaitsUntilAWithdrawnOneHasSettledAndContinuesIt() {
        client.resumeAsync(ticket("a"), PATIENCE).cancel(false);
        CompletableFuture<Lease> again = client.resumeAsync(ticket("a"), Duration.ZERO);
        CompletableFuture<Lease> cancelled = client.resumeAsync(ticket("a"), Duration.ZERO);
        CompletableFuture<Lease> last = client.resumeAsync(ticket("a"), Duration.ZERO);
        cancelled.cancel(false);
        client.resumeAsync(ticket("b"), Duration.ZERO);
        assertThat(store.resumes()).as("the other ticket does not wait").hasSize(2);
        asked(0).answer().complete(granted(0, 77));
        assertThat(asked(2).request().owner()).isEqualTo(asked(0).request().owner());
        assertThat(asked(2).request().ballotSoFar()).isEqualTo(77);
        asked(2).answer().complete(granted(2, 78));
        assertThat(again.join().fencingToken()).isEqualTo(78);
        asked(3).answer().complete(new AcquireReply.Busy(null, 3, List.of()));
        assertThat(failure(last)).isInstanceOf(TicketRefusedException.class);
        assertThat(failure(cancelled)).isInstanceOf(CancellationException.class);
    }

    @Test
    void anAttemptThatWaitsForAnotherFailsWithItsPatience() {
        client.resumeAsync(ticket("a"), PATIENCE);
        CompletableFuture<Lease> second = client.resumeAsync(ticket("a"), Duration.ofSeconds(5));
        runtime.pass(Duration.ofSeconds(5).minusNanos(1));
        assertThat(second).isNotDone();
        runtime.pass(Duration.ofNanos(1));
        assertThat(failure(second))
                .isInstanceOf(AmbiguousAcquireException.class)
                .hasMessageContainingAll("\"a\"", "still in progress");
        assertThat(store.resumes()).hasSize(1);
        asked(0).answer().complete(failed(FailureKind.PERMANENT, 0));
        client.resumeAsync(ticket("a"), PATIENCE);
        assertThat(store.resumes()).as("the ticket is not stuck").hasSize(2);
    }

    @Test
    void manyAttemptsFollowEachOtherWithoutNesting() {
        client.resumeAsync(ticket("a"), PATIENCE);
        List<CompletableFuture<Lease>> all = new ArrayList<>();
        for (int i = 0; i < 20_000; i++) {
            all.add(client.resumeAsync(ticket("a"), PATIENCE));
        }
        store.refusesResumesAtOnce();
        asked(0).answer().complete(new AcquireReply.Busy(null, 3, List.of()));
        assertThat(all).allMatch(CompletableFuture::isCompletedExceptionally);
    }

    /** A store of SQL reports no ballot with a failure. */
    @Test
    void anAttemptWithoutABallotIsContinuedMoreThanOnce() {
        for (int i = 0; i < 3; i++) {
            CompletableFuture<Lease> resumed = client.resumeAsync(ticket("a"), Duration.ZERO);
            asked(i).answer().complete(failed(i == 0 ? FailureKind.UNKNOWN : FailureKind.NO_EFFECT, 0));
            assertThat(failure(resumed)).isInstanceOf(AmbiguousAcquireException.class);
            assertThat(asked(i).request().owner()).isEqualTo(asked(0).request().owner());
        }
    }

    @Test
    void anAttemptIsForgottenWhenTheStoreHasForgottenIt() {
        CompletableFuture<Lease> first = client.resumeAsync(ticket("a"), Duration.ZERO);
        asked(0).answer().complete(failed(FailureKind.UNKNOWN, 70));
        runtime.pass(Duration.ofMinutes(3));
        CompletableFuture<Lease> second = client.resumeAsync(ticket("b"), Duration.ZERO);
        asked(1).answer().complete(failed(FailureKind.UNKNOWN, 70));
        client.resumeAsync(ticket("a"), Duration.ZERO);
        assertThat(asked(2).request().owner()).isNotEqualTo(asked(0).request().owner());
        assertThat(first).isCompletedExceptionally();
        assertThat(second).isCompletedExceptionally();
    }

    /** The second attempt began to wait long before the first one was answered, and breaks off. */
    @Test
    void anAttemptIsRememberedForAsLongAsTheOneThatItContinued() {
        CompletableFuture<Lease> first = client.resumeAsync(ticket("a"), PATIENCE);
        CompletableFuture<Lease> second = client.resumeAsync(ticket("a"), Duration.ofMinutes(10));
        runtime.pass(Duration.ofMinutes(1));
        asked(0).answer().complete(failed(FailureKind.UNKNOWN, 70));
        assertThat(first).isCompletedExceptionally();
        AtomicInteger reads = new AtomicInteger();
        runtime.beforeAClockIsRead(() -> {
            // The answer, and the failure to process it.
            if (reads.incrementAndGet() <= 2) {
                throw new InternalError("made by the test");
            }
        });
        asked(1).answer().complete(failed(FailureKind.UNKNOWN, 71));
        runtime.beforeAClockIsRead(() -> {});
        assertThat(failure(second)).isInstanceOf(InternalError.class);
        runtime.pass(Duration.ofMinutes(2));
        client.resumeAsync(ticket("b"), Duration.ZERO);
        client.resumeAsync(ticket("a"), Duration.ZERO);
        assertThat(asked(3).request().owner()).isEqualTo(asked(0).request().owner());
    }

    @Test
    void aCancelledAttemptShowsNoLeaseAndTheNextOneContinuesIt() {
        CompletableFuture<Lease> resumed = client.resumeAsync(ticket("a"), PATIENCE);
        resumed.cancel(false);
        assertThat(news).containsExactly("began", "INTERRUPTED");
        asked(0).answer().complete(granted(0, 77));
        runtime.pass(Duration.ofSeconds(20));
        assertThat(store.renewals()).isEmpty();
        assertThat(store.releases()).isEmpty();
        CompletableFuture<Lease> again = client.resumeAsync(ticket("a"), PATIENCE);
        assertThat(asked(1).request().owner()).isEqualTo(asked(0).request().owner());
        assertThat(asked(1).request().ballotSoFar()).isEqualTo(77);
        asked(1).answer().complete(granted(1, 78));
        assertThat(again.join().fencingToken()).isEqualTo(78);
    }

    @Test
    void aCancelledPauseSendsNothingMore() {
        CompletableFuture<Lease> resumed = client.resumeAsync(ticket("a"), PATIENCE);
        asked(0).answer().complete(failed(FailureKind.NO_EFFECT, 0));
        resumed.cancel(false);
        runtime.pass(PATIENCE);
        assertThat(store.resumes()).hasSize(1);
    }

    @Test
    void aLeaseThatNoCallerTakesIsReleased() {
        runtime.holdCallbacks();
        CompletableFuture<Lease> resumed = client.resumeAsync(ticket("a"), PATIENCE);
        asked(0).answer().complete(granted(0, 77));
        resumed.cancel(false);
        runtime.runCallbacks();
        assertThat(store.releases()).hasSize(1);
    }

    @Test
    void aClosedClientResumesNothing() {
        CompletableFuture<Lease> resumed = client.resumeAsync(ticket("a"), PATIENCE);
        runtime.passesInWaits();
        client.close(Duration.ofSeconds(1));
        assertThat(failure(resumed)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> client.resume(ticket("a"), PATIENCE)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void aCloseReleasesALateGrant() {
        CompletableFuture<Lease> resumed = client.resumeAsync(ticket("a"), PATIENCE);
        runtime.schedule(
                Duration.ofSeconds(1).toNanos(), () -> asked(0).answer().complete(granted(0, 77)));
        runtime.passesInWaits();
        client.close(Duration.ofSeconds(10));
        assertThat(failure(resumed)).isInstanceOf(IllegalStateException.class);
        assertThat(store.releases()).singleElement().satisfies(release -> {
            assertThat(release.owner()).isEqualTo(asked(0).request().owner());
            assertThat(release.ballot()).isEqualTo(77);
        });
    }

    @Test
    void aCloseReleasesAGrantThatNoAttemptHasContinued() {
        client.resumeAsync(ticket("a"), PATIENCE).cancel(false);
        asked(0).answer().complete(granted(0, 77));
        client.resumeAsync(ticket("b"), PATIENCE).cancel(false);
        asked(1).answer().complete(failed(FailureKind.UNKNOWN, 78));
        assertThat(store.releases()).isEmpty();
        runtime.passesInWaits();
        client.close(Duration.ofSeconds(10));
        assertThat(store.releases())
                .as("what is not answered is not undone")
                .extracting(ReleaseRequest::owner)
                .containsExactly(asked(0).request().owner());
    }

    @Test
    void aCloseReleasesAGrantWhoseContinuationHasNoAnswer() {
        client.resumeAsync(ticket("a"), PATIENCE).cancel(false);
        asked(0).answer().complete(granted(0, 77));
        for (int i = 1; i <= 2; i++) {
            CompletableFuture<Lease> again = client.resumeAsync(ticket("a"), Duration.ZERO);
            asked(i).answer().complete(failed(i == 1 ? FailureKind.UNKNOWN : FailureKind.NO_EFFECT, 77 + i));
            assertThat(failure(again)).isInstanceOf(AmbiguousAcquireException.class);
        }
        runtime.passesInWaits();
        client.close(Duration.ofSeconds(10));
        assertThat(store.releases()).singleElement().satisfies(release -> {
            assertThat(release.owner()).isEqualTo(asked(0).request().owner());
            assertThat(release.ballot()).isEqualTo(79);
        });
    }

    @Test
    void aCloseReleasesAGrantThatWasTooLateThoughTheLastCopyHasNoAnswer() {
        CompletableFuture<Lease> resumed = client.resumeAsync(ticket("a"), Duration.ofMinutes(1));
        AcquireReply late = granted(0, 77);
        runtime.pass(Duration.ofSeconds(40));
        asked(0).answer().complete(late);
        runtime.pass(Duration.ofSeconds(30));
        asked(1).answer().complete(failed(FailureKind.UNKNOWN, 78));
        assertThat(failure(resumed)).isInstanceOf(AmbiguousAcquireException.class);
        assertThat(store.releases()).isEmpty();
        runtime.passesInWaits();
        client.close(Duration.ofSeconds(10));
        assertThat(store.releases())
                .extracting(ReleaseRequest::owner)
                .containsExactly(asked(0).request().owner());
    }

    @Test
    void aGrantThatTheStoreDeniesLaterIsNeitherReleasedNorContinued() {
        client.resumeAsync(ticket("a"), PATIENCE).cancel(false);
        asked(0).answer().complete(granted(0, 77));
        CompletableFuture<Lease> again = client.resumeAsync(ticket("a"), Duration.ZERO);
        asked(1).answer().complete(new AcquireReply.Busy(null, 3, List.of()));
        assertThat(failure(again)).isInstanceOf(TicketRefusedException.class);
        client.resumeAsync(ticket("a"), Duration.ZERO).cancel(false);
        assertThat(asked(2).request().owner()).isNotEqualTo(asked(0).request().owner());
        runtime.passesInWaits();
        client.close(Duration.ofSeconds(10));
        assertThat(store.releases()).isEmpty();
    }

    @Test
    void aGrantThatCannotBeKeptIsReleased() {
        CompletableFuture<Lease> resumed = client.resumeAsync(ticket("a"), PATIENCE);
        AtomicInteger reads = new AtomicInteger();
        AcquireReply reply = granted(0, 77);
        runtime.beforeAClockIsRead(() -> {
            // The first reading is that of the answer, the second that of the new grant.
            if (reads.incrementAndGet() == 2) {
                throw new InternalError("made by the test");
            }
        });
        asked(0).answer().complete(reply);
        runtime.beforeAClockIsRead(() -> {});
        assertThat(failure(resumed)).isInstanceOf(InternalError.class);
        assertThat(store.releases())
                .extracting(ReleaseRequest::owner)
                .contains(asked(0).request().owner());
        client.resumeAsync(ticket("a"), PATIENCE);
        assertThat(store.resumes()).hasSize(2);
    }

    @Test
    void anErrorWhileAnAnswerIsProcessedOrACopyIsSentCostsOneCopy() {
        for (int at = 1; at <= 3; at++) {
            int failing = at;
            int before = store.resumes().size();
            CompletableFuture<Lease> resumed = client.resumeAsync(ticket("cdef".substring(at, at + 1)), PATIENCE);
            AtomicInteger reads = new AtomicInteger();
            runtime.beforeAClockIsRead(() -> {
                // The answer is processed, the next copy is scheduled, the timer is armed.
                if (reads.incrementAndGet() == failing) {
                    throw new InternalError("made by the test");
                }
            });
            asked(before).answer().complete(failed(FailureKind.NO_EFFECT, 0));
            runtime.beforeAClockIsRead(() -> {});
            runtime.pass(Duration.ofMillis(200));
            asked(before + 1).answer().complete(granted(before + 1, 80 + at));
            assertThat(resumed).as("reading " + at).isCompleted();
        }
    }

    @Test
    void aStoreThatReturnsNoFutureCostsOneCopy() {
        store.returnsNoFuture(2);
        CompletableFuture<Lease> resumed = client.resumeAsync(ticket("a"), PATIENCE);
        runtime.pass(Duration.ofMillis(100));
        asked(2).answer().complete(granted(2, 77));
        assertThat(resumed).isCompleted();
    }

    @Test
    void aCopyThatCannotBeSentIsRepeated() {
        CompletableFuture<Lease> resumed = client.resumeAsync(ticket("a"), PATIENCE);
        asked(0).answer().complete(failed(FailureKind.NO_EFFECT, 0));
        AtomicInteger reads = new AtomicInteger();
        runtime.beforeAClockIsRead(() -> {
            // The timer's queue reads the clock once; then the copy takes its mark.
            if (reads.incrementAndGet() == 2) {
                throw new InternalError("made by the test");
            }
        });
        runtime.pass(Duration.ofMillis(10));
        runtime.beforeAClockIsRead(() -> {});
        assertThat(store.resumes()).hasSize(1);
        runtime.pass(Duration.ofMillis(200));
        asked(1).answer().complete(granted(1, 77));
        assertThat(resumed).isCompleted();
    }

    @Test
    void unsuitableArgumentsAndStoresAreRefused() {
        assertThatIllegalArgumentException().isThrownBy(() -> client.resume(ticket("a"), Duration.ofNanos(-1)));
        store.ticketed = false;
        assertThatThrownBy(() -> client.resume(ticket("a"), PATIENCE))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContainingAll("\"a\"", "silent:");
        assertThat(store.resumes()).isEmpty();
    }

    @Test
    void anInterruptedThreadStopsAsking() {
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> client.resume(ticket("a"), PATIENCE)).isInstanceOf(InterruptedException.class);
        assertThat(store.resumes()).isEmpty();
    }
}
