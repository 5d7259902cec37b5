package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockBusyException;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.MultiLease;
import io.leasehold.ReentrantLockView;
import io.leasehold.StoreAccessException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The methods of callers: the results, the refusals, and the remains of each form of acquiring. */
@SuppressWarnings({"FutureReturnValueIgnored", "LockNotBeforeTry"})
@Tag("quick")
@Timeout(60)
final class ClientEdgesTest {

    private static final LockName NAME = LockName.exactly("a");

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final List<String> heard = new ArrayList<>();

    private LockClient client() {
        return Leasehold.builder()
                .store(store)
                .runtime(runtime)
                .label("billing")
                .defaults(LockOptions.defaults().ttl(Duration.ofSeconds(30)))
                .listener(new LockListener() {
                    @Override
                    public void attemptBegan(AttemptBegan event) {
                        heard.add("first");
                        throw new InternalError("made by the test");
                    }
                })
                .listener(new LockListener() {
                    @Override
                    public void attemptBegan(AttemptBegan event) {
                        heard.add("second");
                    }
                })
                .connect();
    }

    private final LockClient client = client();

    @AfterEach
    void noInterruptIsLeft() {
        assertThat(Thread.interrupted()).isFalse();
    }

    private void grantAtOnce() {
        store.answersAtOnce(request -> new AcquireReply.Granted(
                new Grant(request.owner(), TokenRange.of(100, 1), runtime.nanoTime(), Incarnation.DURABLE), List.of()));
    }

    private void busyAtOnce() {
        store.answersAtOnce(request -> new AcquireReply.Busy(null, 0, List.of()));
    }

    @Test
    void aListenerThatThrowsHarmsNeitherTheLockNorAnotherListener() {
        grantAtOnce();
        assertThat(client.named(NAME).acquireAsync()).isCompleted();
        assertThat(heard).containsExactly("first", "second");
    }

    @Test
    void aClientHasAnIdOfHostProcessAndItsOwn() {
        assertThat(client.holderId())
                .matches("[A-Za-z0-9._-]+/" + ProcessHandle.current().pid() + "/[0-9a-f]{8}/billing");
        assertThat(client().holderId()).isNotEqualTo(client.holderId());
        assertThat(client.named(NAME).toString()).contains("a", "silent:");
        assertThat(client.all(NAME).toString()).contains("[a]", "silent:");
        assertThat(client.named(NAME).asReentrantLock().toString()).contains("[a]");
        assertThat(client.maxTtl()).isEqualTo(Duration.ofHours(24));
    }

    @Test
    void aTtlThatTheStoreDoesNotAcceptIsRefusedBeforeItIsAsked() {
        store.accepts(Duration.ofHours(1));
        var longest = client.named(NAME).with(o -> o.ttl(Duration.ofMinutes(59)).lockDelay(Duration.ofMinutes(1)));
        assertThatThrownBy(longest.with(o -> o.lockDelay(Duration.ofSeconds(61)))::acquireAsync)
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContainingAll("59m", "lock delay of 1m1s", "1h");
        assertThatThrownBy(() ->
                        client.all(NAME).with(o -> o.ttl(Duration.ofHours(2))).acquireAsync())
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageNotContaining("lock delay");
        assertThat(store.acquires()).isEmpty();
        longest.acquireAsync();
        assertThat(store.acquires()).hasSize(1);
        assertThatThrownBy(client::all).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void aChangeOfTheDefaultsLeavesTheTtlToTheStore() {
        store.accepts(Duration.ofSeconds(10));
        LockOptions options = Leasehold.builder()
                .store(store)
                .runtime(runtime)
                .defaults(o -> o.maxHold(Duration.ofHours(1)))
                .defaults(o -> o.nodeTimeout(Duration.ofSeconds(1)))
                .connect()
                .named(NAME)
                .options();
        assertThat(options.ttl()).isEqualTo(Duration.ofSeconds(10));
        assertThat(options.maxHold()).isEqualTo(Duration.ofHours(1));
        assertThat(options.nodeTimeout()).isEqualTo(Duration.ofSeconds(1));
        LockOptions set = Leasehold.builder()
                .store(store)
                .runtime(runtime)
                .defaults(o -> o.maxHold(Duration.ofHours(1)))
                .defaults(LockOptions.defaults().ttl(Duration.ofSeconds(5)))
                .connect()
                .named(NAME)
                .options();
        assertThat(set.ttl()).isEqualTo(Duration.ofSeconds(5));
        assertThat(set.maxHold()).isEqualTo(Duration.ofHours(1));
    }

    // ---- forms of acquiring

    @Test
    void eachFormOfAskingSaysBusyInItsWay() throws InterruptedException {
        busyAtOnce();
        assertThat(client.named(NAME).tryAcquire(Duration.ZERO)).isNull();
        assertThat(client.named(NAME).attempt(Duration.ZERO).orElseNull()).isNull();
        assertThat(client.all(NAME).tryAcquire(Duration.ZERO)).isNull();
        assertThat(client.all(NAME).attempt(Duration.ZERO).orElseNull()).isNull();
        assertThat(client.all(NAME).attemptAsync(Duration.ZERO).join().orElseNull())
                .isNull();
        assertThatThrownBy(() -> client.named(NAME)
                        .holdWhile(Duration.ZERO, lease -> CompletableFuture.completedFuture(1))
                        .join())
                .hasCauseInstanceOf(LockBusyException.class);
        assertThat(client.named(NAME).asReentrantLock().tryLock()).isFalse();
        assertThatThrownBy(() -> client.named(NAME).attempt(Duration.ofNanos(-1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("lock \"a\"");
    }

    @Test
    void eachFormOfAskingGivesTheHold() throws InterruptedException {
        grantAtOnce();
        client.named(NAME).acquire().release();
        client.named(NAME).tryAcquire(Duration.ZERO).release();
        client.named(NAME).attempt(Duration.ZERO).orElseThrow().release();
        client.named(NAME).attemptAsync(Duration.ZERO).join().orElseThrow().releaseAsync();
        client.all(NAME).acquire().release();
        client.all(NAME).tryAcquire(Duration.ZERO).release();
        MultiLease last = client.all(NAME).attempt(Duration.ZERO).orElseThrow();
        last.release();
        assertThat(store.releases()).hasSize(7);
        store.answersAtOnce(
                request -> new AcquireReply.Failed(FailureKind.PERMANENT, new StoreAccessException("NOPERM", null), 0));
        assertThatThrownBy(() -> client.named(NAME).acquire()).isInstanceOf(StoreAccessException.class);
        assertThatThrownBy(() -> client.named(NAME).acquireAsync().join())
                .hasCauseInstanceOf(StoreAccessException.class);
    }

    @Test
    void aThreadThatIsInterruptedAlreadyAsksForNothing() {
        List<Interruptible> forms = List.of(
                () -> client.named(NAME).acquire(),
                () -> client.named(NAME).attempt(Duration.ofSeconds(1)),
                () -> client.all(NAME).acquire(),
                () -> client.named(NAME).asReentrantLock().lockInterruptibly(),
                () -> client.named(NAME).asReentrantLock().tryLock(1, TimeUnit.SECONDS));
        for (Interruptible form : forms) {
            Thread.currentThread().interrupt();
            assertThatThrownBy(form::run).isInstanceOf(InterruptedException.class);
            assertThat(Thread.currentThread().isInterrupted()).isFalse();
        }
        assertThat(store.acquires()).isEmpty();
    }

    private interface Interruptible {
        void run() throws InterruptedException;
    }

    // ---- work under a lock

    @Test
    void workHoldsTheLockForAsLongAsItsStage() {
        grantAtOnce();
        CompletableFuture<String> stage = new CompletableFuture<>();
        CompletableFuture<String> done = client.named(NAME).holdWhile(Duration.ZERO, lease -> stage);
        assertThat(done).isNotDone();
        assertThat(store.releases()).isEmpty();
        done.cancel(false);
        assertThat(store.releases()).as("the work has begun, and has it").isEmpty();
        stage.complete("x");
        assertThat(store.releases()).hasSize(1);
    }

    @Test
    void workThatFailsGivesTheLockBackAndTellsWhy() {
        grantAtOnce();
        CompletableFuture<Object> thrown = client.named(NAME).holdWhile(Duration.ZERO, lease -> {
            throw new IllegalArgumentException("made by the test");
        });
        CompletableFuture<Object> none = client.named(NAME).holdWhile(Duration.ZERO, lease -> null);
        CompletableFuture<Object> failed = client.named(NAME)
                .holdWhile(Duration.ZERO, lease -> CompletableFuture.failedFuture(new IllegalStateException("later")));
        assertThatThrownBy(thrown::join).hasCauseInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(none::join).hasCauseInstanceOf(NullPointerException.class);
        assertThatThrownBy(failed::join).hasCauseInstanceOf(IllegalStateException.class);
        assertThat(store.releases()).hasSize(3);
    }

    @Test
    void workThatIsCancelledBeforeItBeginsNeverDoesAndLeavesNothing() {
        List<Lease> worked = new ArrayList<>();
        CompletableFuture<Object> done = client.named(NAME).holdWhile(Duration.ofSeconds(5), lease -> {
            worked.add(lease);
            return new CompletableFuture<>();
        });
        done.cancel(false);
        var asked = store.acquires().get(0);
        asked.answer()
                .complete(new AcquireReply.Granted(
                        new Grant(
                                asked.request().owner(), TokenRange.of(1, 1), runtime.nanoTime(), Incarnation.DURABLE),
                        List.of()));
        assertThat(worked).isEmpty();
        assertThat(store.releases()).hasSize(1);
        runtime.pass(Duration.ofMinutes(2));
        assertThat(store.renewals()).isEmpty();
    }

    // ---- the reentrant view

    @Test
    void aViewAsksOnceAndGivesBackWithItsLastUnlock() throws InterruptedException {
        grantAtOnce();
        ReentrantLockView view = client.named(NAME).asReentrantLock();
        assertThat(view.isHeldByCurrentThread()).isFalse();
        view.lockInterruptibly();
        view.lock();
        assertThat(view.tryLock()).isTrue();
        assertThat(view.tryLock(0, TimeUnit.SECONDS)).isTrue();
        assertThat(view.getHoldCount()).isEqualTo(4);
        assertThat(view.fencingToken()).isEqualTo(100);
        assertThat(view.isHeldByCurrentThread()).isTrue();
        assertThat(store.acquires()).hasSize(1);
        view.unlock();
        view.unlock();
        view.unlock();
        assertThat(store.releases()).isEmpty();
        view.unlock();
        assertThat(store.releases()).hasSize(1);
        assertThat(view.tryLock(-1, TimeUnit.SECONDS)).as("no patience").isTrue();
        view.unlock();
        busyAtOnce();
        assertThat(view.tryLock(-1, TimeUnit.SECONDS)).isFalse();
        assertThat(view.getHoldCount()).isZero();
    }

    // ---- the end of a client

    @Test
    void aCloseTellsHoldersReleasesAndClosesTheStoreOnce() {
        grantAtOnce();
        Lease lease = client.named(NAME).acquireAsync().join();
        List<LossCause> told = new ArrayList<>();
        lease.onLost(told::add);
        runtime.passesInWaits();
        long before = runtime.nanoTime();
        client.close();
        assertThat(Duration.ofNanos(runtime.nanoTime() - before)).isLessThan(Duration.ofMillis(10));
        assertThat(told).containsExactly(LossCause.CLIENT_CLOSED);
        assertThat(lease.whenEnded().toCompletableFuture().join()).isEqualTo(new HoldEnd.Lost(LossCause.CLIENT_CLOSED));
        assertThat(store.releases()).hasSize(1);
        assertThat(store.isClosed()).isTrue();
        client.close();
        client.close(Duration.ZERO);
        assertThatThrownBy(() -> client.named(NAME).acquireAsync())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContainingAll("silent:", "closed");
        assertThatThrownBy(() -> client.close(null)).isInstanceOf(NullPointerException.class);
    }

    /** Holders have half of the patience, and answers the other half. */
    @Test
    void aCloseIsAsPatientAsItIsAsked() {
        client.named(NAME).acquireAsync();
        runtime.passesInWaits();
        long before = runtime.nanoTime();
        client.close(Duration.ofSeconds(8));
        assertThat(Duration.ofNanos(runtime.nanoTime() - before)).isEqualTo(Duration.ofSeconds(4));
        assertThat(store.isClosed()).isTrue();
    }

    @Test
    void aHolderInAnotherThreadHasHalfOfThePatience() {
        grantAtOnce();
        Thread holder = new Thread(() -> {
            try {
                Thread.sleep(Long.MAX_VALUE);
            } catch (InterruptedException e) {
                heard.add("over");
            }
        });
        holder.start();
        LeaseHandle lease = (LeaseHandle) client.named(NAME).acquireAsync().join();
        lease.state().openedBy(holder);
        runtime.passesInWaits();
        long before = runtime.nanoTime();
        client.close(Duration.ofSeconds(8));
        assertThat(Duration.ofNanos(runtime.nanoTime() - before))
                .isBetween(Duration.ofSeconds(4), Duration.ofMillis(4_010));
        assertThat(store.releases()).hasSize(1);
        holder.interrupt();
    }

    /**
     * A caller that is interrupted waits for its undo, for the time limit or for the close; none of them keeps a
     * reference to the wait.
     */
    @Test
    void ofAWaitThatIsOverNothingIsLeft() throws Exception {
        CompletableFuture<Void> closed = ((EngineClient) client).attempts().closed();
        CompletableFuture<Throwable> thrown = new CompletableFuture<>();
        Thread caller = new Thread(
                () -> thrown.complete(catchThrowable(() -> client.named(NAME).acquire())));
        caller.start();
        while (store.acquires().isEmpty() || caller.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        caller.interrupt();
        while (closed.getNumberOfDependents() == 0) {
            Thread.onSpinWait();
        }
        runtime.pass(Duration.ofSeconds(30));
        assertThat(thrown.get(30, TimeUnit.SECONDS)).isInstanceOf(InterruptedException.class);
        assertThat(closed.getNumberOfDependents()).isZero();
    }

    @Test
    void whoIsInterruptedAfterTheCloseWaitsForNothing() {
        Attempts attempts = ((EngineClient) client).attempts();
        client.close(Duration.ZERO);
        long before = runtime.nanoTime();
        Futures.joinAtMost(runtime, attempts.closed(), Duration.ofSeconds(5).toNanos());
        assertThat(runtime.nanoTime()).isEqualTo(before);
        assertThat(runtime.timers()).isZero();
    }
}
