package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockBusyException;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.SharedLock;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
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
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of readers of one process that share a hold of the store ({@link SharedReads}). */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
@Timeout(60)
final class SharedReadsTest {

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
            assertThat(event.name()).isEqualTo(NAME.asRead());
            news.add(event.outcome().name());
        }

        @Override
        public void released(Released event) {
            assertThat(event.name()).isEqualTo(NAME.asRead());
            news.add(event.outcome().name());
        }

        @Override
        public void lost(Lost event) {
            news.add("lost " + event.cause());
        }

        @Override
        public void abandoned(Abandoned event) {
            news.add("abandoned " + event.cause());
        }
    };

    private final LockClient client = Leasehold.builder()
            .store(store)
            .runtime(runtime)
            .listener(listener)
            .defaults(LockOptions.defaults().ttl(Duration.ofSeconds(30)))
            .connect();

    private final SharedLock lock = client.readWrite("a");

    private SilentStore.Asked<AcquireRequest, AcquireReply> asked(int index) {
        assertThat(store.acquires()).hasSizeGreaterThan(index);
        return store.acquires().get(index);
    }

    private AcquireReply granted(int index) {
        return new AcquireReply.Granted(
                new Grant(
                        asked(index).request().owner(),
                        TokenRange.of(1_000 + index, 1),
                        runtime.nanoTime(),
                        Incarnation.DURABLE),
                List.of());
    }

    private void grant(int index) {
        asked(index).answer().complete(granted(index));
    }

    private void queue(int index) {
        asked(index).answer().complete(new AcquireReply.Queued(null, 7, List.of()));
    }

    private List<Lease> held(int readers) {
        List<CompletableFuture<Lease>> wanted = new ArrayList<>();
        for (int i = 0; i < readers; i++) {
            wanted.add(lock.read().acquireAsync());
        }
        grant(store.acquires().size() - 1);
        return wanted.stream().map(CompletableFuture::join).toList();
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
    void readersThatComeWhileTheRequestIsOnItsWayShareItsGrant() {
        List<Lease> leases = held(3);
        assertThat(store.acquires()).hasSize(1);
        assertThat(asked(0).request().name()).isEqualTo(NAME.asRead());
        assertThat(asked(0).request().reserve()).isEqualTo(1);
        assertThat(leases).extracting(Lease::fencingToken).containsOnly(1_000L);
        assertThat(leases).allMatch(Lease::isValid);
        assertThat(leases).doesNotHaveDuplicates();
        assertThat(leases.get(0).lockName()).isEqualTo(NAME.asRead());
        assertThat(news).containsExactly("began", "began", "began", "ACQUIRED", "ACQUIRED", "ACQUIRED");
    }

    @Test
    void theLastReaderReleasesTheHold() {
        List<Lease> leases = held(3);
        news.clear();
        assertThat(leases.get(1).release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(leases.get(1).isValid()).isFalse();
        assertThat(leases.get(1).release()).as("once").isEqualTo(ReleaseOutcome.RELEASED);
        leases.get(0).close();
        assertThat(store.releases()).isEmpty();
        assertThat(leases.get(2).isValid()).isTrue();
        assertThat(leases.get(2).release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(store.releases()).hasSize(1);
        assertThat(store.releases().get(0).names()).containsExactly(NAME.asRead());
        assertThat(store.releases().get(0).owner()).isEqualTo(asked(0).request().owner());
        assertThat(news).containsExactly("RELEASED", "RELEASED", "RELEASED");
        assertThat(leases).noneMatch(Lease::isValid);
    }

    @Test
    void aReaderThatReleasesAtOnceDoesNotEndTheHoldOfTheNext() {
        CompletableFuture<Void> first = lock.read().acquireAsync().thenAccept(Lease::close);
        CompletableFuture<Lease> second = lock.read().acquireAsync();
        grant(0);
        assertThat(first).isCompleted();
        assertThat(store.releases()).isEmpty();
        assertThat(second.join().isValid()).isTrue();
        second.join().close();
        assertThat(store.releases()).hasSize(1);
    }

    @Test
    void theOutcomeOfTheStoreIsThatOfTheLastReader() {
        List<Lease> leases = held(2);
        store.answersReleases(new ReleaseReply.NotOurs());
        assertThat(leases.get(0).release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(leases.get(1).release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
    }

    @Test
    void aReaderJoinsForFifteenMillisecondsAfterTheGrant() {
        Lease first = held(1).get(0);
        runtime.pass(Duration.ofMillis(14));
        Lease second = lock.read().acquireAsync().join();
        assertThat(second.fencingToken()).isEqualTo(first.fencingToken());
        Attempt<Lease> third = lock.read().attemptAsync(Duration.ZERO).join();
        assertThat(third.orElseThrow().fencingToken()).isEqualTo(first.fencingToken());
        runtime.pass(Duration.ofMillis(1));
        CompletableFuture<Lease> late = lock.read().acquireAsync();
        assertThat(store.acquires()).hasSize(2);
        grant(1);
        assertThat(late.join().fencingToken()).isEqualTo(1_001);
        first.close();
        third.orElseThrow().close();
        late.join().close();
        assertThat(store.releases()).hasSize(1);
        assertThat(second.isValid()).isTrue();
        second.close();
        assertThat(store.releases()).hasSize(2);
    }

    @Test
    void aHoldThatWasReleasedIsNotJoined() {
        held(1).get(0).close();
        lock.read().acquireAsync();
        assertThat(store.acquires()).hasSize(2);
    }

    @Test
    void aReaderWithOtherOptionsHasItsOwnHold() {
        held(1);
        SharedLock other = lock.with(options -> options.lockDelay(Duration.ofSeconds(1)));
        CompletableFuture<Lease> wanted = other.read().acquireAsync();
        assertThat(store.acquires()).hasSize(2);
        grant(1);
        assertThat(wanted.join().fencingToken()).isEqualTo(1_001);
        assertThat(lock.with(options -> options.ttl(Duration.ofSeconds(30)))
                        .read()
                        .acquireAsync()
                        .join()
                        .fencingToken())
                .as("equal options")
                .isEqualTo(1_000);
    }

    @Test
    void readersWithOtherOptionsWaitForTheirTurnAndTheirPatienceEndsMeanwhile() {
        CompletableFuture<Lease> first = lock.read().acquireAsync();
        SharedLock other = lock.with(options -> options.lockDelay(Duration.ofSeconds(1)));
        CompletableFuture<Attempt<Lease>> second = other.read().attemptAsync(Duration.ofMillis(100));
        CompletableFuture<Lease> third = other.read().acquireAsync();
        assertThat(store.acquires()).hasSize(1);
        runtime.pass(Duration.ofMillis(100));
        assertThat(second.join()).isInstanceOf(Attempt.Busy.class);
        grant(0);
        assertThat(first).isCompleted();
        grant(1);
        assertThat(third.join().isValid()).isTrue();
    }

    @Test
    void aCallerWhosePatienceEndsLeavesAlone() {
        CompletableFuture<Attempt<Lease>> hasty = lock.read().attemptAsync(Duration.ofSeconds(1));
        CompletableFuture<Lease> patient = lock.read().acquireAsync();
        queue(0);
        runtime.pass(Duration.ofSeconds(1));
        Attempt<Lease> outcome = hasty.join();
        assertThat(outcome).isInstanceOf(Attempt.Busy.class);
        assertThat(((Attempt.Busy<Lease>) outcome).waited()).isEqualTo(Duration.ofSeconds(1));
        assertThat(store.releases()).as("the place in the queue stays").isEmpty();
        assertThat(news).containsExactly("began", "began", "TIMEOUT");
        store.ear().wake(NAME.asRead());
        grant(1);
        assertThat(asked(1).request().owner()).isEqualTo(asked(0).request().owner());
        assertThat(patient.join().isValid()).isTrue();
    }

    @Test
    void theRequestIsWithdrawnWithItsLastCaller() {
        CompletableFuture<Attempt<Lease>> one = lock.read().attemptAsync(Duration.ofSeconds(1));
        CompletableFuture<Attempt<Lease>> other = lock.read().attemptAsync(Duration.ofSeconds(2));
        queue(0);
        runtime.pass(Duration.ofSeconds(2));
        assertThat(one.join()).isInstanceOf(Attempt.Busy.class);
        assertThat(other.join()).isInstanceOf(Attempt.Busy.class);
        assertThat(store.releases()).hasSize(1);
        assertThat(store.releases().get(0).kind()).isEqualTo(ReleaseRequest.Kind.UNDO);
        assertThat(store.releases().get(0).names()).containsExactly(NAME.asRead());
        lock.read().acquireAsync();
        assertThat(asked(store.acquires().size() - 1).request().owner())
                .isNotEqualTo(asked(0).request().owner());
    }

    @Test
    void everyCallerWaitsForTheFirstAnswer() {
        CompletableFuture<Attempt<Lease>> hasty = lock.read().attemptAsync(Duration.ofMillis(1));
        CompletableFuture<Attempt<Lease>> joined = lock.read().attemptAsync(Duration.ofMillis(1));
        CompletableFuture<Lease> patient = lock.read().acquireAsync();
        runtime.pass(Duration.ofMillis(10));
        assertThat(hasty).isNotDone();
        grant(0);
        assertThat(hasty.join().orElseThrow().isValid()).isTrue();
        assertThat(joined.join().orElseThrow().isValid()).isTrue();
        assertThat(patient.join().isValid()).isTrue();
    }

    @Test
    void afterTheFirstAnswerTheirPatienceIsOver() {
        CompletableFuture<Attempt<Lease>> hasty = lock.read().attemptAsync(Duration.ofMillis(1));
        CompletableFuture<Lease> patient = lock.read().acquireAsync();
        runtime.pass(Duration.ofMillis(10));
        queue(0);
        runtime.pass(Duration.ofMillis(1));
        assertThat(hasty.join()).isInstanceOf(Attempt.Busy.class);
        assertThat(patient).isNotDone();
    }

    @Test
    void aCallerWithoutPatienceAsksTheStoreItselfAndAtOnce() {
        CompletableFuture<Lease> waiting = lock.read().acquireAsync();
        queue(0);
        CompletableFuture<Attempt<Lease>> once = lock.read().attemptAsync(Duration.ZERO);
        assertThat(store.acquires()).hasSize(2);
        assertThat(asked(1).request().isWaiting()).isFalse();
        asked(1).answer().complete(new AcquireReply.Busy(null, 3, List.of()));
        assertThat(once.join()).isInstanceOf(Attempt.Busy.class);
        assertThat(news).containsExactly("began", "began", "BUSY");
        assertThat(waiting).isNotDone();
    }

    @Test
    void aFailureReachesEveryCaller() {
        CompletableFuture<Lease> one = lock.read().acquireAsync();
        CompletableFuture<Attempt<Lease>> other = lock.read().attemptAsync(Duration.ofSeconds(1));
        StoreUnavailableException why = new StoreUnavailableException("made by the test", null);
        asked(0).answer().complete(new AcquireReply.Failed(FailureKind.PERMANENT, why, 0));
        assertThat(failure(one)).isSameAs(why);
        assertThat(failure(other)).isSameAs(why);
        assertThat(news).containsExactly("began", "began", "ERROR", "ERROR");
    }

    @Test
    void aCallerThatLeavesDuringFailuresIsToldOfThem() {
        CompletableFuture<Attempt<Lease>> hasty = lock.read().attemptAsync(Duration.ofSeconds(1));
        lock.read().acquireAsync();
        asked(0).answer()
                .complete(new AcquireReply.Failed(
                        FailureKind.UNKNOWN, new StoreUnavailableException("made by the test", null), 5));
        runtime.pass(Duration.ofSeconds(1));
        assertThat(failure(hasty))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("made by the test");
        assertThat(store.releases()).isEmpty();
    }

    /** The last caller leaves with the outcome of the request, which is its own. */
    @Test
    void aSoleCallerThatLeavesAfterARequestOfUnknownOutcomeIsToldSo() {
        AcquireReply unknown = new AcquireReply.Failed(
                FailureKind.UNKNOWN, new StoreUnavailableException("made by the test", null), 5);
        CompletableFuture<Attempt<Lease>> hasty = lock.read().attemptAsync(Duration.ofSeconds(1));
        asked(0).answer().complete(unknown);
        runtime.pass(Duration.ofSeconds(1));
        assertThat(failure(hasty)).isInstanceOf(AmbiguousAcquireException.class);
        assertThat(news).containsExactly("began", "AMBIGUOUS");
        store.acquires().forEach(asked -> asked.answer().complete(unknown));
        assertThat(store.releases()).as("the request is undone").hasSize(1);
    }

    @Test
    void aCancelledCallerLeavesTheOthers() {
        CompletableFuture<Lease> one = lock.read().acquireAsync();
        CompletableFuture<Lease> other = lock.read().acquireAsync();
        one.cancel(false);
        assertThat(store.releases()).isEmpty();
        grant(0);
        assertThat(other.join().isValid()).isTrue();
        assertThat(news).containsExactly("began", "began", "INTERRUPTED", "ACQUIRED");
        other.join().close();
        assertThat(store.releases()).hasSize(1);
    }

    @Test
    void aGrantThatNoCallerWantsIsReleased() {
        CompletableFuture<Lease> one = lock.read().acquireAsync();
        one.cancel(false);
        assertThat(store.releases()).as("the request is on its way").isEmpty();
        grant(0);
        assertThat(store.releases()).hasSize(1);
        assertThat(store.releases().get(0).owner()).isEqualTo(asked(0).request().owner());
    }

    @Test
    void aLossIsToldToEachReaderAndUndoneByTheLast() {
        List<Lease> leases = held(2);
        List<String> told = new ArrayList<>();
        leases.get(0).onLost(cause -> told.add("0 " + cause));
        leases.get(1).onLost(cause -> told.add("1 " + cause));
        news.clear();
        store.ear().lost(asked(0).request().owner(), LossCause.FORCE_RELEASED);
        assertThat(told).containsExactly("0 FORCE_RELEASED", "1 FORCE_RELEASED");
        assertThat(news).containsExactly("lost FORCE_RELEASED", "lost FORCE_RELEASED");
        assertThat(leases).noneMatch(Lease::isValid);
        assertThatThrownBy(() -> leases.get(0).ensureValidFor(Duration.ofSeconds(1)))
                .isInstanceOf(LeaseLostException.class);
        assertThatThrownBy(() -> leases.get(1).renew()).isInstanceOf(LeaseLostException.class);
        assertThat(leases.get(0).release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
        assertThat(store.releases()).isEmpty();
        assertThat(leases.get(1).release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
        assertThat(store.releases()).hasSize(1);
        lock.read().acquireAsync();
        assertThat(store.acquires()).as("nobody joins it").hasSize(2);
    }

    @Test
    void aRenewalIsOneForAllReaders() {
        List<Lease> leases = held(3);
        runtime.pass(Duration.ofSeconds(11));
        assertThat(store.renewals()).hasSize(1);
        assertThat(store.renewals().get(0).request().items()).hasSize(1);
        store.renewals().get(0).answer().complete(new RenewReply(List.of(new RenewReply.Renewed(runtime.nanoTime()))));
        assertThat(leases.get(2).remainingValidity()).isGreaterThan(Duration.ofSeconds(28));
        CompletableFuture<Void> byHand = leases.get(1).renewAsync();
        store.renewals().get(1).answer().complete(new RenewReply(List.of(new RenewReply.NotOurs())));
        assertThat(failure(byHand)).isInstanceOf(LeaseLostException.class);
        assertThat(leases).noneMatch(Lease::isValid);
    }

    @Test
    void aReaderThatWaitsForARenewalPassesItsCheckByIt() {
        List<Lease> leases = held(2);
        runtime.pass(Duration.ofSeconds(9));
        CompletableFuture<Void> sure =
                leases.get(0).ensureValidForAsync(Duration.ofSeconds(22)).toCompletableFuture();
        assertThat(sure).isNotDone();
        leases.get(1).close();
        store.renewals().get(0).answer().complete(new RenewReply(List.of(new RenewReply.Renewed(runtime.nanoTime()))));
        assertThat(sure).isCompleted();
    }

    @Test
    void aReaderIsExportedByNobody() {
        Lease lease = held(1).get(0);
        assertThatThrownBy(() -> lease.export(Duration.ofSeconds(5)))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("read lease");
        assertThat(lease.isValid()).isTrue();
    }

    @Test
    void aReaderThatLeaksIsReportedAndTheHoldEndsWhenTheOthersHaveLeft() {
        List<Lease> leases = new ArrayList<>(held(2));
        ActiveLease leaked = LeaseHandle.of(leases.get(0)).state();
        news.clear();
        leaked.leaked();
        assertThat(news).containsExactly("abandoned LEAKED");
        runtime.pass(Duration.ofSeconds(11));
        assertThat(store.renewals()).as("for the other").hasSize(1);
        store.renewals().get(0).answer().complete(new RenewReply(List.of(new RenewReply.Renewed(runtime.nanoTime()))));
        assertThat(leases.get(1).release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(store.releases()).as("the lost reader may still work").isEmpty();
        runtime.pass(Duration.ofSeconds(60));
        assertThat(store.renewals()).hasSize(1);
        assertThat(news).containsExactly("abandoned LEAKED", "RELEASED", "lost LEAKED");
    }

    @Test
    void aReaderWhoseThreadHasDiedIsAbandoned() throws InterruptedException {
        List<Lease> leases = held(1);
        Thread dead = new Thread(() -> {});
        dead.start();
        dead.join();
        LeaseHandle.of(leases.get(0)).state().owner().bindTo(dead);
        runtime.pass(Duration.ofSeconds(60));
        assertThat(news).contains("abandoned THREAD_DIED", "lost THREAD_DIED");
        assertThat(store.renewals()).isEmpty();
    }

    @Test
    void theLongestTimeForWhichAReaderKeepsTheLockCounts() {
        SharedLock kept = lock.with(options -> options.atLeast(Duration.ofSeconds(5)));
        for (boolean inOrder : new boolean[] {true, false}) {
            int before = store.releases().size();
            CompletableFuture<Lease> one = kept.read().acquireAsync();
            grant(before);
            runtime.pass(Duration.ofMillis(10));
            Lease other = kept.read().acquireAsync().join();
            assertThat((inOrder ? one.join() : other).release()).isEqualTo(ReleaseOutcome.RELEASED);
            assertThat((inOrder ? other : one.join()).release()).isEqualTo(ReleaseOutcome.KEPT);
            runtime.pass(Duration.ofMillis(4_995));
            assertThat(store.releases()).as("in order: %s", inOrder).hasSize(before);
            runtime.pass(Duration.ofMillis(10));
            assertThat(store.releases()).hasSize(before + 1);
        }
    }

    @Test
    void theCloseTellsWaitersAndReaders() {
        List<Lease> leases = held(2);
        runtime.pass(Duration.ofMillis(20));
        CompletableFuture<Lease> waiting = lock.read().acquireAsync();
        CompletableFuture<Lease> other = lock.read().acquireAsync();
        queue(1);
        client.close(Duration.ZERO);
        assertThat(failure(waiting)).isInstanceOf(IllegalStateException.class).hasMessageContaining("closed");
        assertThat(failure(other)).isInstanceOf(IllegalStateException.class);
        assertThat(leases).noneMatch(Lease::isValid);
        assertThat(news).endsWith("INTERRUPTED", "INTERRUPTED", "lost CLIENT_CLOSED", "lost CLIENT_CLOSED");
        assertThat(store.releases()).hasSize(2);
        assertThatThrownBy(() -> lock.read().acquireAsync()).isInstanceOf(IllegalStateException.class);
        assertThat(leases.get(0).release()).isNotNull();
    }

    @Test
    void holdWhileSharesAndLeavesLikeEveryReader() {
        CompletableFuture<String> done = new CompletableFuture<>();
        CompletableFuture<String> one =
                lock.read().holdWhile(Duration.ofSeconds(5), lease -> CompletableFuture.completedFuture("one"));
        CompletableFuture<String> other = lock.read().holdWhile(Duration.ofSeconds(5), lease -> done);
        grant(0);
        assertThat(one.join()).isEqualTo("one");
        assertThat(store.releases()).isEmpty();
        done.complete("other");
        assertThat(other.join()).isEqualTo("other");
        assertThat(store.releases()).hasSize(1);
    }

    @Test
    void aBusyLockIsReportedByTheAsynchronousForms() {
        CompletableFuture<Void> one =
                lock.read().holdWhile(Duration.ZERO, lease -> CompletableFuture.completedFuture(null));
        asked(0).answer().complete(new AcquireReply.Busy(null, 3, List.of()));
        assertThat(failure(one)).isInstanceOf(LockBusyException.class);
    }

    @Test
    void aStoreWithoutReadersRefuses() {
        store.shared = false;
        assertThat(client.keepsReaders()).isFalse();
        assertThatThrownBy(() -> client.readWrite("a"))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("silent:")
                .hasMessageContaining("named(...)");
        assertThatThrownBy(lock::read).isInstanceOf(UnsafeStoreException.class);
    }
}
