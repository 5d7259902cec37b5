package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.SharedLock;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.WriteLease;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the downgrade of a write lease ({@link WriteLease#downgrade}). */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
@Timeout(60)
final class LeaseDowngradeTest {

    private static final LockName NAME = LockName.exactly("a");

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

        @Override
        public void lost(Lost event) {
            news.add("lost");
        }

        @Override
        public void released(Released event) {
            news.add(event.outcome().name());
        }
    };

    private final LockClient client = Leasehold.builder()
            .store(store)
            .runtime(runtime)
            .listener(listener)
            .defaults(LockOptions.defaults().ttl(Duration.ofSeconds(30)))
            .connect();

    private final SharedLock lock = client.readWrite("a");

    private WriteLease held() {
        CompletableFuture<WriteLease> wanted = lock.write().acquireAsync();
        grantWriter(store.acquires().size() - 1);
        news.clear();
        return wanted.join();
    }

    private void grantWriter(int index) {
        var asked = store.acquires().get(index);
        Grant grant =
                new Grant(asked.request().owner(), TokenRange.of(1_000, 64), runtime.nanoTime(), Incarnation.DURABLE);
        asked.answer().complete(new AcquireReply.Granted(grant, List.of()));
    }

    private SilentStore.Asked<AcquireRequest, AcquireReply> asked(int index) {
        assertThat(store.downgrades()).hasSizeGreaterThan(index);
        return store.downgrades().get(index);
    }

    private AcquireReply granted(int index, long sentAtNanos) {
        OwnerToken owner = asked(index).request().owner();
        return new AcquireReply.Granted(
                new Grant(owner, TokenRange.of(2_000 + index, 1), sentAtNanos, Incarnation.DURABLE), List.of());
    }

    private void grant(int index) {
        asked(index).answer().complete(granted(index, runtime.nanoTime()));
    }

    private static AcquireReply failed(FailureKind kind, long ballot) {
        return new AcquireReply.Failed(kind, new StoreUnavailableException("made by the test", null), ballot);
    }

    private static Throwable failure(CompletableFuture<?> future) {
        try {
            future.getNow(null);
        } catch (CompletionException e) {
            return e.getCause();
        }
        throw new AssertionError("it has not failed: " + future);
    }

    @Test
    void theWriterEndsBeforeTheRequestLeavesAndTheReaderBeginsWithTheAnswer() {
        WriteLease writer = held();
        CompletableFuture<Lease> wanted = writer.downgradeAsync();

        assertThat(writer.isValid()).isFalse();
        assertThatThrownBy(() -> writer.ensureValidFor(Duration.ofMillis(1))).isInstanceOf(IllegalStateException.class);
        assertThat(failure(writer.downgradeAsync())).isInstanceOf(IllegalStateException.class);
        assertThat(wanted).isNotDone();
        AcquireRequest request = asked(0).request();
        assertThat(request.name()).isEqualTo(NAME.asRead());
        assertThat(request.ballotSoFar()).as("above the whole range").isEqualTo(1_063);
        assertThat(request.isWaiting()).isFalse();
        assertThat(request.owner())
                .isNotEqualTo(store.acquires().get(0).request().owner());

        grant(0);
        Lease reader = wanted.join();
        assertThat(reader.isValid()).isTrue();
        assertThat(reader.fencingToken()).isEqualTo(2_000);
        assertThat(reader.lockName()).isEqualTo(NAME.asRead());
        assertThat(writer.release()).isEqualTo(ReleaseOutcome.DOWNGRADED);
        assertThat(writer.whenEnded().toCompletableFuture().join())
                .isEqualTo(new HoldEnd.Released(ReleaseOutcome.DOWNGRADED));
        writer.close();
        assertThat(news).containsExactly("began", "ACQUIRED", "DOWNGRADED");
        assertThat(store.releases()).isEmpty();

        runtime.pass(Duration.ofSeconds(11));
        assertThat(store.renewals()).hasSize(1);
        assertThat(store.renewals().get(0).request().items().get(0).owner()).isEqualTo(request.owner());
        assertThat(reader.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(store.releases().get(0).names()).containsExactly(NAME.asRead());
        assertThat(store.releases().get(0).owner()).isEqualTo(request.owner());
    }

    @Test
    void theBlockingFormWaitsForTheAnswer() {
        WriteLease writer = held();
        runtime.schedule(5, () -> grant(0));
        runtime.passesInWaits();
        assertThat(writer.downgrade().fencingToken()).isEqualTo(2_000);
    }

    @Test
    void noRenewalOfTheWriterFollows() {
        WriteLease writer = held();
        runtime.pass(Duration.ofSeconds(11));
        assertThat(store.renewals()).hasSize(1);
        CompletableFuture<Lease> wanted = writer.downgradeAsync();
        store.renewals().get(0).answer().complete(new RenewReply(List.of(new RenewReply.NotOurs())));
        grant(0);
        assertThat(wanted.join().isValid()).isTrue();
    }

    @Test
    void aLostAnswerIsRequestedAgainWithTheSameOwnerTokenAndALargerBallot() {
        CompletableFuture<Lease> wanted = held().downgradeAsync();
        asked(0).answer().complete(failed(FailureKind.UNKNOWN, 1_500));
        runtime.pass(Duration.ofMillis(10));
        assertThat(asked(1).request().owner()).isEqualTo(asked(0).request().owner());
        assertThat(asked(1).request().ballotSoFar()).isEqualTo(1_500);
        asked(1).answer().completeExceptionally(new IllegalStateException("a driver that throws"));
        runtime.pass(Duration.ofMillis(20));
        asked(2).answer().complete(new AcquireReply.Refused("made by the test", 50_000_000, 1_600, List.of()));
        runtime.pass(Duration.ofMillis(40));
        assertThat(store.downgrades())
                .as("not before the time that the store named")
                .hasSize(3);
        runtime.pass(Duration.ofMillis(10));
        grant(3);
        Lease reader = wanted.join();
        assertThat(reader.fencingToken()).isEqualTo(2_003);
        assertThat(store.releases()).isEmpty();
        reader.close();
        assertThat(store.releases().get(0).ballot()).isEqualTo(2_003);
    }

    @Test
    void aReconnectSendsTheNextCopyAtOnce() {
        CompletableFuture<Lease> wanted = held().downgradeAsync();
        asked(0).answer().complete(failed(FailureKind.NO_EFFECT, 0));
        store.ear().reconnected();
        grant(1);
        assertThat(wanted).isCompleted();
    }

    @Test
    void anAnswerThatCameTooLateIsConfirmedByAnother() {
        CompletableFuture<Lease> wanted = held().downgradeAsync();
        AcquireReply slow = granted(0, runtime.nanoTime());
        runtime.pass(Duration.ofSeconds(29));
        asked(0).answer().complete(slow);
        assertThat(wanted).isNotDone();
        runtime.pass(Duration.ofMillis(10));
        grant(1);
        assertThat(wanted.join().remainingValidity()).isGreaterThan(Duration.ofSeconds(28));
    }

    @Test
    void anAnswerAfterTheEndOfTheWriterCountsIfTheReaderIsValid() {
        CompletableFuture<Lease> wanted = held().downgradeAsync();
        asked(0).answer().complete(failed(FailureKind.UNKNOWN, 0));
        runtime.pass(Duration.ofSeconds(29));
        int last = store.downgrades().size() - 1;
        asked(last).answer().complete(failed(FailureKind.UNKNOWN, 0));
        runtime.pass(Duration.ofMillis(500));
        AcquireReply slow = granted(store.downgrades().size() - 1, runtime.nanoTime());
        runtime.pass(Duration.ofSeconds(2));
        asked(store.downgrades().size() - 1).answer().complete(slow);
        assertThat(wanted.join().isValid()).isTrue();
        assertThat(store.releases()).isEmpty();
    }

    @Test
    void aWriterThatTheStoreDoesNotKnowIsLost() {
        WriteLease writer = held();
        CompletableFuture<Lease> wanted = writer.downgradeAsync();
        asked(0).answer().complete(failed(FailureKind.UNKNOWN, 0));
        runtime.pass(Duration.ofMillis(10));
        asked(1).answer().complete(new AcquireReply.Busy(null, 3, List.of()));
        assertThat(failure(wanted)).isInstanceOf(LeaseLostException.class);
        assertThat(writer.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
        assertThat(store.releases()).isEmpty();
        assertThat(news).containsExactly("began", "ERROR", "ALREADY_LOST");
        runtime.pass(Duration.ofMinutes(2));
        assertThat(store.downgrades()).hasSize(2);
    }

    @Test
    void afterItsValidityAnUnknownWriterProvesNothing() {
        CompletableFuture<Lease> wanted = held().downgradeAsync();
        runtime.pass(Duration.ofSeconds(31));
        asked(0).answer().complete(new AcquireReply.Busy(null, 3, List.of()));
        assertThat(failure(wanted)).isInstanceOf(AmbiguousAcquireException.class);
        assertThat(store.releases()).hasSize(2);
    }

    @Test
    void aLeaseThatWasLostBeforeIsNotDowngraded() {
        WriteLease writer = held();
        store.ear().lost(store.acquires().get(0).request().owner(), LossCause.FORCE_RELEASED);
        assertThatThrownBy(writer::downgrade).isInstanceOf(LeaseLostException.class);
        assertThat(store.downgrades()).isEmpty();
    }

    @Test
    void withoutAnAnswerBothOwnerTokensAreEndedTheWriterFirst() {
        WriteLease writer = held();
        CompletableFuture<Lease> wanted = writer.downgradeAsync();
        CompletableFuture<ReleaseReply> later = new CompletableFuture<>();
        store.answersReleasesWith(later);
        for (int i = 0; store.downgrades().size() > i; i++) {
            asked(i).answer().complete(failed(FailureKind.UNKNOWN, 1_100 + i));
            runtime.pass(Duration.ofMillis(500));
        }
        assertThat(failure(wanted))
                .isInstanceOf(AmbiguousAcquireException.class)
                .hasMessageContaining("downgrade")
                .hasMessageContaining("free after 30");
        assertThat(store.downgrades().size()).isBetween(50, 70);
        assertThat(writer.release()).isEqualTo(ReleaseOutcome.UNCONFIRMED);
        assertThat(news).containsExactly("began", "AMBIGUOUS", "UNCONFIRMED");
        assertThat(store.releases()).hasSize(1);
        ReleaseRequest first = store.releases().get(0);
        assertThat(first.names()).containsExactly(NAME);
        assertThat(first.owner()).isEqualTo(store.acquires().get(0).request().owner());
        assertThat(first.kind()).isEqualTo(ReleaseRequest.Kind.UNDO);
        assertThat(first.ballot()).isEqualTo(1_100 + store.downgrades().size() - 1);
        later.complete(new ReleaseReply.NotOurs());
        assertThat(store.releases()).hasSize(2);
        ReleaseRequest second = store.releases().get(1);
        assertThat(second.names()).containsExactly(NAME.asRead());
        assertThat(second.owner()).isEqualTo(asked(0).request().owner());
        assertThat(second.ballot()).isEqualTo(first.ballot());
    }

    @Test
    void aFinalErrorIsNotRepeated() {
        CompletableFuture<Lease> wanted = held().downgradeAsync();
        asked(0).answer().complete(failed(FailureKind.PERMANENT, 0));
        assertThat(failure(wanted)).isInstanceOf(AmbiguousAcquireException.class);
        assertThat(store.releases()).hasSize(2);
    }

    @Test
    void aFailedDowngradeKeepsTheLockForItsTime() {
        CompletableFuture<WriteLease> wanted = lock.with(options -> options.atLeast(Duration.ofSeconds(5)))
                .write()
                .acquireAsync();
        grantWriter(0);
        wanted.join().downgradeAsync();
        asked(0).answer().complete(failed(FailureKind.PERMANENT, 0));
        assertThat(store.releases()).isEmpty();
        runtime.pass(Duration.ofSeconds(5));
        assertThat(store.releases()).hasSize(2);
    }

    @Test
    void aCloseDoesNotWaitForTheTimeOfALockThatAFailedDowngradeKeeps() {
        CompletableFuture<WriteLease> wanted = lock.with(options -> options.atLeast(Duration.ofSeconds(5)))
                .write()
                .acquireAsync();
        grantWriter(0);
        wanted.join().downgradeAsync();
        asked(0).answer().complete(failed(FailureKind.PERMANENT, 0));
        long beforeNanos = runtime.nanoTime();
        runtime.passesInWaits();
        client.close(Duration.ofSeconds(10));
        assertThat(runtime.nanoTime()).isEqualTo(beforeNanos);
        assertThat(store.releases()).isEmpty();
    }

    @Test
    void aReadLeaseThatNoCallerWantsIsReleased() {
        CompletableFuture<Lease> wanted = held().downgradeAsync();
        wanted.cancel(false);
        grant(0);
        assertThat(store.releases()).hasSize(1);
        assertThat(store.releases().get(0).names()).containsExactly(NAME.asRead());
    }

    @Test
    void waitersOfTheProcessAskTheStoreAgain() {
        WriteLease writer = held();
        CompletableFuture<WriteLease> waiting = lock.write().acquireAsync();
        assertThat(store.acquires()).as("it waits to receive the lease").hasSize(1);
        writer.downgradeAsync();
        assertThat(store.acquires()).hasSize(2);
        assertThat(waiting).isNotDone();
    }

    @Test
    void aCloseEndsTheWait() {
        CompletableFuture<Lease> wanted = held().downgradeAsync();
        runtime.passesInWaits();
        client.close(Duration.ZERO);
        assertThat(failure(wanted))
                .isInstanceOf(AmbiguousAcquireException.class)
                .hasMessageContaining("closed");
        grant(0);
        assertThat(store.renewals()).isEmpty();
    }

    @Test
    void theReadLeaseIsNotSharedWithLaterReaders() {
        CompletableFuture<Lease> wanted = held().downgradeAsync();
        grant(0);
        assertThat(wanted).isCompleted();
        lock.read().acquireAsync();
        assertThat(store.acquires()).hasSize(2);
    }

    @Test
    void aStoreWithoutReadersRefusesAndTheLeaseIsStillHeld() {
        WriteLease writer = held();
        store.shared = false;
        assertThatThrownBy(writer::downgrade)
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("silent:");
        assertThat(writer.isValid()).isTrue();
    }
}
