package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Attempt;
import io.leasehold.HoldEnd;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.MultiLease;
import io.leasehold.ReentrantLockView;
import io.leasehold.ReleaseOutcome;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Leases of several locks: their common release, their ends, and the refusal of a thread that would wait for itself.
 */
@SuppressWarnings({"FutureReturnValueIgnored", "LockNotBeforeTry"})
@Tag("quick")
@Timeout(60)
final class SeveralLeasesTest {

    private static final LockName A = LockName.exactly("a");
    private static final LockName B = LockName.exactly("b");
    private static final LockOptions OPTIONS = LockOptions.defaults().ttl(Duration.ofSeconds(30));

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final AtomicReference<Runnable> whenOneIsReleased = new AtomicReference<>(() -> {});
    private final List<Runnable> works = new ArrayList<>();
    private final EngineClient client = client(OPTIONS);

    private EngineClient client(LockOptions options) {
        LockListener listener = new LockListener() {
            @Override
            public void released(Released event) {
                whenOneIsReleased.getAndSet(() -> {}).run();
            }
        };
        return new EngineClient(runtime, store, options, "", List.of(listener), false, works::add);
    }

    private void grantAtOnce() {
        store.answersAtOnce(request -> new AcquireReply.Granted(
                new Grant(request.owner(), TokenRange.of(100, 1), runtime.nanoTime(), Incarnation.DURABLE), List.of()));
    }

    private MultiLease held() {
        store.isNotAtomic();
        grantAtOnce();
        return client.all(A, B).acquireAsync().join();
    }

    private void answerLast(AcquireReply reply) {
        store.acquires().get(store.acquires().size() - 1).answer().complete(reply);
    }

    private void grantLast() {
        var asked = store.acquires().get(store.acquires().size() - 1).request();
        answerLast(new AcquireReply.Granted(
                new Grant(asked.owner(), TokenRange.of(100, 1), runtime.nanoTime(), Incarnation.DURABLE), List.of()));
    }

    private void lose(int part) {
        store.ear().lost(store.acquires().get(part).request().owner(), LossCause.SESSION_LOST);
    }

    /** The releases are answered one second after the first was sent; by then, all of them have been sent. */
    private Duration taken(Runnable step) {
        CompletableFuture<ReleaseReply> answer = new CompletableFuture<>();
        store.answersReleasesWith(answer);
        int before = store.releases().size();
        List<Integer> sent = new ArrayList<>();
        runtime.schedule(Duration.ofSeconds(1).toNanos(), () -> {
            sent.add(store.releases().size() - before);
            answer.complete(new ReleaseReply.Released());
        });
        runtime.passesInWaits();
        long began = runtime.nanoTime();
        step.run();
        assertThat(sent).containsExactly(2);
        return Duration.ofNanos(runtime.nanoTime() - began);
    }

    @Test
    void allReleasesAreSentBeforeTheFirstIsWaitedFor() {
        MultiLease lease = held();
        assertThat(taken(() -> assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED)))
                .isEqualTo(Duration.ofSeconds(1));
    }

    @Test
    void aCloseSendsThemAllAndWaitsForThem() {
        MultiLease lease = held();
        assertThat(taken(lease::close)).isEqualTo(Duration.ofSeconds(1));
    }

    @Test
    void theOutcomeIsTheWorstAlsoOfTheFirstPart() {
        MultiLease first = held();
        lose(0);
        assertThat(first.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
        assertThat(first.whenEnded().toCompletableFuture().join()).isEqualTo(new HoldEnd.Lost(LossCause.SESSION_LOST));
        MultiLease unconfirmed = held();
        store.answersReleases(new ReleaseReply.Failed(FailureKind.UNKNOWN, new StoreUnavailableException("no", null)));
        unconfirmed.releaseAsync();
        assertThat(unconfirmed.whenEnded().toCompletableFuture().join())
                .isEqualTo(new HoldEnd.Released(ReleaseOutcome.UNCONFIRMED));
    }

    @Test
    void aLossEndsItAlthoughTheOtherPartsAreHeld() {
        MultiLease lease = held();
        CompletableFuture<HoldEnd> end = lease.whenEnded().toCompletableFuture();
        assertThat(end).isNotDone();
        lose(1);
        assertThat(end).isCompletedWithValue(new HoldEnd.Lost(LossCause.SESSION_LOST));
    }

    /** Another part may be lost during the release of one part; the thread is then already releasing all of them. */
    @Test
    void noInterruptComesFromAPartThatIsLostDuringTheRelease() {
        for (int way = 0; way < 3; way++) {
            MultiLease lease = held();
            int last = store.acquires().size() - 1;
            lease.interruptOnLoss();
            whenOneIsReleased.set(() -> lose(last));
            switch (way) {
                case 0 -> lease.release();
                case 1 -> lease.releaseAsync();
                default -> lease.close();
            }
            assertThat(Thread.interrupted()).as("way %d", way).isFalse();
        }
    }

    // ---- acquiring

    @Test
    void aThreadDoesNotWaitForWhatItHoldsItself() throws InterruptedException {
        grantAtOnce();
        MultiLease several = client.all(A, B).acquire();
        assertThatThrownBy(() -> client.all(A, B).acquire()).hasMessageContaining("wait for itself");
        assertThatThrownBy(() -> client.named(B).acquire()).hasMessageContaining("wait for itself");
        assertThatThrownBy(() -> client.named(B).asReentrantLock().lock()).hasMessageContaining("wait for itself");
        several.releaseAsync();
        client.named(A).acquire();
        assertThatThrownBy(() -> client.named(A).acquire()).hasMessageContaining("wait for itself");
        assertThatThrownBy(() -> client.all(A, B).acquire()).hasMessageContaining("wait for itself");
        assertThat(client.all(B, A, B).names()).containsExactly(A, B);
    }

    @Test
    void aViewTakesTheLockInEachWay() {
        grantAtOnce();
        ReentrantLockView view = client.named(A).asReentrantLock();
        view.lock();
        assertThat(view.getHoldCount()).isEqualTo(1);
        view.unlock();
        assertThat(view.tryLock()).isTrue();
        assertThat(view.getHoldCount()).isEqualTo(1);
        view.unlock();
        assertThat(store.releases()).hasSize(2);
    }

    /** The patience applies to all locks together; each part may use the rest of it. */
    @Test
    void aPartIsWaitedForAsLongAsPatienceIsLeft() {
        store.isNotAtomic();
        CompletableFuture<Attempt<MultiLease>> wanted = client.all(A, B).attemptAsync(Duration.ofSeconds(10));
        runtime.pass(Duration.ofSeconds(4));
        grantLast();
        runtime.pass(Duration.ofSeconds(1));
        store.answersAtOnce(request -> new AcquireReply.Busy(null, 7, List.of()));
        answerLast(new AcquireReply.Busy(null, 7, List.of()));
        assertThat(wanted).isNotDone();
        runtime.pass(Duration.ofMillis(4_999));
        assertThat(wanted).isNotDone();
        runtime.pass(Duration.ofMillis(1));
        assertThat(wanted).isCompletedWithValue(new Attempt.Busy<>(B, Duration.ofSeconds(10), null, List.of()));
    }

    @Test
    void whatEndsAPartEndsThemAllWithItsOwnFailure() {
        store.isNotAtomic();
        CompletableFuture<MultiLease> wanted = client.all(A, B).acquireAsync();
        grantLast();
        answerLast(new AcquireReply.Failed(FailureKind.PERMANENT, new StoreAccessException("NOPERM", null), 0));
        assertThatThrownBy(wanted::join).hasCauseInstanceOf(StoreAccessException.class);
        assertThat(store.releases()).hasSize(1);
    }

    @Test
    void aWithdrawalIsOverWhenThePartsAreGivenBack() {
        store.isNotAtomic();
        PendingAttempt<MultiLease> pending =
                client.attempts().enterAll(List.of(A, B), client.attempts().settings(OPTIONS), Long.MAX_VALUE);
        grantLast();
        answerLast(new AcquireReply.Busy(null, 7, List.of()));
        CompletableFuture<ReleaseReply> answer = new CompletableFuture<>();
        store.answersReleasesWith(answer);
        CompletableFuture<?> left = pending.giveUp();
        assertThat(store.releases()).hasSize(1);
        assertThat(left).isNotDone();
        answer.complete(new ReleaseReply.Released());
        assertThat(left).isDone();
    }

    /** The lock is not kept for a lease that no caller has seen. */
    @Test
    void workThatNeverBeganKeepsNothingTaken() {
        EngineClient keeping = client(OPTIONS.atLeast(Duration.ofSeconds(20)));
        grantAtOnce();
        CompletableFuture<Integer> done =
                keeping.all(A, B).holdWhile(Duration.ZERO, lease -> CompletableFuture.completedFuture(4));
        done.cancel(false);
        works.forEach(Runnable::run);
        assertThat(store.releases()).hasSize(2);
        CompletableFuture<Integer> other =
                keeping.all(A, B).holdWhile(Duration.ZERO, lease -> CompletableFuture.completedFuture(4));
        works.get(works.size() - 1).run();
        assertThat(other).isCompletedWithValue(4);
        assertThat(store.releases()).as("they stay taken").hasSize(2);
    }
}
