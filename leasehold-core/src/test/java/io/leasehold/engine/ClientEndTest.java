package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Hold;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockListener.NodeChanged;
import io.leasehold.LockListener.NodeStanding;
import io.leasehold.LockName;
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
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The ends of clients and concurrent events: an exit, a call in progress, and a store that becomes unreachable and
 * returns.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
@Timeout(60)
final class ClientEndTest {

    private static final LockName NAME = LockName.exactly("a");

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final List<NodeChanged> changes = new ArrayList<>();
    private final AtomicReference<Runnable> whenAnAttemptBegins = new AtomicReference<>(() -> {});

    private final LockListener listener = new LockListener() {
        @Override
        public void attemptBegan(AttemptBegan event) {
            whenAnAttemptBegins.get().run();
        }

        @Override
        public void nodeChanged(NodeChanged event) {
            changes.add(event);
        }
    };

    private LockClient client(boolean byExit) {
        Leasehold.Builder builder =
                Leasehold.builder().store(store).runtime(runtime).listener(listener);
        return (byExit ? builder.releaseOnShutdown(Duration.ofSeconds(10)) : builder).connect();
    }

    private void grantAtOnce() {
        store.answersAtOnce(request -> new AcquireReply.Granted(
                new Grant(request.owner(), TokenRange.of(100, 1), runtime.nanoTime(), Incarnation.DURABLE), List.of()));
    }

    // ---- by an exit

    @Test
    void anExitClosesTheClientAndWaitsForHoldersOfAnyKind() {
        LockClient client = client(true);
        grantAtOnce();
        Lease lease = client.named(NAME).acquireAsync().join();
        runtime.passesInWaits();
        runtime.schedule(Duration.ofSeconds(3).toNanos(), lease::releaseAsync);
        long before = runtime.nanoTime();
        runtime.exit();
        assertThat(Duration.ofNanos(runtime.nanoTime() - before))
                .as("until it was released")
                .isBetween(Duration.ofSeconds(3), Duration.ofMillis(3_100));
        assertThat(store.isClosed()).isTrue();
        client.close();
    }

    @Test
    void anExitDoesNotWaitForAHolderThatDoesNotCome() {
        LockClient client = client(true);
        grantAtOnce();
        client.named(NAME).acquireAsync().join();
        runtime.passesInWaits();
        long before = runtime.nanoTime();
        runtime.exit();
        assertThat(Duration.ofNanos(runtime.nanoTime() - before))
                .isBetween(Duration.ofSeconds(5), Duration.ofMillis(5_100));
        assertThat(store.releases()).hasSize(1);
    }

    @Test
    void aClientThatIsClosedByHandIsNoneOfTheExitsAnyMore() {
        LockClient client = client(true);
        assertThat(runtime.closedByAnExit()).isEqualTo(1);
        client.close();
        assertThat(runtime.closedByAnExit()).isZero();
        client(false);
        assertThat(runtime.closedByAnExit()).isZero();
    }

    @Test
    void aCallbackOfTheCloseThatClosesAsWellDoesNotWaitForItself() {
        LockClient client = client(true);
        grantAtOnce();
        Lease lease = client.named(NAME).acquireAsync().join();
        ((LeaseHandle) lease).state().openedBy(new Thread(() -> {}));
        List<Boolean> closedAfterTheExit = new ArrayList<>();
        runtime.passesInWaits();
        lease.onLost(why -> {
            client.close();
            closedAfterTheExit.add(store.isClosed());
        });
        client.close(Duration.ofSeconds(2));
        assertThat(closedAfterTheExit).containsExactly(false);
        assertThat(store.isClosed()).isTrue();
    }

    // ---- during a call

    /** An attempt that has checked whether the client is closed, and is not in the queue yet, is ended nevertheless. */
    @Test
    void anAttemptThatBeginsWhileTheClientClosesIsEnded() {
        List<Function<LockClient, CompletableFuture<? extends Hold>>> ways = List.of(
                client -> client.named(NAME).acquireAsync(),
                client -> client.all(NAME).acquireAsync(),
                client -> client.all(NAME, LockName.exactly("b")).acquireAsync());
        for (Function<LockClient, CompletableFuture<? extends Hold>> way : ways) {
            LockClient client = client(false);
            runtime.passesInWaits();
            store.isNotAtomic();
            whenAnAttemptBegins.set(() -> {
                whenAnAttemptBegins.set(() -> {});
                client.close(Duration.ofMillis(20));
            });
            CompletableFuture<? extends Hold> wanted = way.apply(client);
            assertThat(wanted).isCompletedExceptionally();
            assertThatThrownBy(wanted::join)
                    .hasCauseInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("closed");
        }
    }

    @Test
    void anInterruptWhileAResultIsAwaitedIsKept() throws InterruptedException {
        CompletableFuture<Integer> result = new CompletableFuture<>();
        List<Integer> got = new ArrayList<>();
        List<Boolean> kept = new ArrayList<>();
        Thread waiting = new Thread(() -> {
            got.add(Futures.join(runtime, result));
            kept.add(Thread.interrupted());
        });
        waiting.start();
        while (waiting.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        waiting.interrupt();
        while (waiting.isInterrupted() || waiting.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        result.complete(7);
        waiting.join();
        assertThat(got).containsExactly(7);
        assertThat(kept).containsExactly(true);
    }

    // ---- a store that becomes unreachable and returns

    @Test
    void whatIsUnansweredIsRepeatedAtOnceWhenTheStoreIsBack() {
        LockClient client = client(false);
        grantAtOnce();
        Lease lease = client.named(NAME).acquireAsync().join();
        store.answersReleases(
                new ReleaseReply.Failed(FailureKind.UNKNOWN, new StoreUnavailableException("away", null)));
        lease.release();
        runtime.pass(Duration.ofMillis(800));
        int sent = store.releases().size();
        store.answersReleases(new ReleaseReply.Released());
        store.ear().reconnected();
        assertThat(store.releases()).hasSize(sent + 1);
        store.ear().reconnected();
        runtime.pass(Duration.ofMinutes(2));
        assertThat(store.releases()).as("and is over").hasSize(sent + 1);
    }

    @Test
    void whatBecomesOfANodeIsToldToListeners() {
        client(false);
        NodeChanged change = new NodeChanged("n", NodeStanding.TRUSTED, NodeStanding.UNREACHABLE, "");
        store.ear().nodeChanged(change);
        assertThat(changes).containsExactly(change);
    }

    @Test
    void aClientTellsWhatItsStorePromises() {
        LockClient client = client(false);
        assertThat(client.guarantees()).isEqualTo(store.guarantees());
        assertThat(client.storeDescription()).isEqualTo("silent:");
    }

    // ---- a user's executor

    @Test
    void workRunsOnTheExecutorThatWasGivenAndOneThatRefusesLeavesNothingHeld() {
        grantAtOnce();
        List<Runnable> queue = new ArrayList<>();
        AtomicReference<RuntimeException> refusal = new AtomicReference<>();
        LockClient client = Leasehold.builder()
                .store(store)
                .runtime(runtime)
                .workExecutor(task -> {
                    if (refusal.get() != null) {
                        throw refusal.get();
                    }
                    queue.add(task);
                })
                .connect();
        CompletableFuture<Integer> done =
                client.named(NAME).holdWhile(Duration.ZERO, lease -> CompletableFuture.completedFuture(4));
        assertThat(done).isNotDone();
        assertThat(store.releases()).isEmpty();
        queue.forEach(Runnable::run);
        assertThat(done).isCompletedWithValue(4);
        assertThat(store.releases()).hasSize(1);
        CompletableFuture<Integer> cancelled =
                client.named(NAME).holdWhile(Duration.ZERO, lease -> CompletableFuture.completedFuture(5));
        cancelled.cancel(false);
        assertThat(store.releases()).as("before its task runs").hasSize(2);
        queue.get(1).run();
        assertThat(store.releases()).as("it never began").hasSize(2);
        refusal.set(new RejectedExecutionException("made by the test"));
        CompletableFuture<Integer> refused =
                client.named(NAME).holdWhile(Duration.ZERO, lease -> CompletableFuture.completedFuture(6));
        assertThatThrownBy(refused::join).hasCauseInstanceOf(RejectedExecutionException.class);
        assertThat(store.releases()).hasSize(3);
    }
}
