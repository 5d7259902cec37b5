package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.MultiLease;
import io.leasehold.ReleaseOutcome;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Claim;
import io.leasehold.spi.Grant;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The notifications of a grant while it is kept, and its end if it cannot be passed on. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
@Timeout(60)
final class HeldGrantKeepingTest {

    private static final LockName A = LockName.exactly("a");
    private static final LockName B = LockName.exactly("b");
    private static final LockOptions OPTIONS = LockOptions.defaults().ttl(Duration.ofSeconds(30));

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final List<String> news = new ArrayList<>();

    private final LockListener listener = new LockListener() {
        @Override
        public void renewed(Renewed event) {
            news.add(event.outcome() + " " + event.fencingToken() + ", "
                    + event.headroom().toSeconds() + " s of " + event.ttl().toSeconds());
        }

        @Override
        public void released(Released event) {
            news.add(event.outcome() + " " + event.fencingToken());
        }
    };

    private final EngineClient client = client(OPTIONS);

    private EngineClient client(LockOptions options) {
        return new EngineClient(runtime, store, options, "", List.of(listener), false, null);
    }

    private SilentStore.Asked<AcquireRequest, AcquireReply> last() {
        return store.acquires().get(store.acquires().size() - 1);
    }

    private void grant(int tokens) {
        last().answer()
                .complete(new AcquireReply.Granted(
                        new Grant(
                                last().request().owner(),
                                TokenRange.of(100, tokens),
                                runtime.nanoTime(),
                                Incarnation.DURABLE),
                        List.of()));
    }

    private Lease held() {
        CompletableFuture<Lease> wanted = client.named(A).acquireAsync();
        grant(64);
        return wanted.join();
    }

    private void answerTheRenewal(RenewReply.Item item) {
        store.renewals().get(store.renewals().size() - 1).answer().complete(new RenewReply(List.of(item)));
    }

    @Test
    void whatBecameOfEachRenewalIsToldWithWhatWasLeft() {
        Lease lease = held();
        runtime.pass(Duration.ofSeconds(1));
        lease.renewAsync();
        answerTheRenewal(new RenewReply.Renewed(runtime.nanoTime()));
        runtime.pass(Duration.ofSeconds(2));
        lease.renewAsync();
        answerTheRenewal(new RenewReply.Failed(new StoreUnavailableException("away", null)));
        lease.renewAsync();
        answerTheRenewal(new RenewReply.NotOurs());
        assertThat(news)
                .containsExactly("RENEWED 100, 28 s of 30", "FAILED 100, 27 s of 30", "NOT_OURS 100, 27 s of 30");
    }

    @Test
    void theStoreHasAsLongForARenewalAsTheHastiestOfItsBatchAllows() {
        CompletableFuture<Lease> hasty =
                client.named(A).with(o -> o.ttl(Duration.ofSeconds(2))).acquireAsync();
        grant(1);
        assertThat(hasty).isCompleted();
        runtime.pass(Duration.ofSeconds(1));
        assertThat(store.renewals()).isNotEmpty();
        assertThat(store.renewals().get(0).request().timeoutNanos())
                .isEqualTo(Timings.of(OPTIONS.ttl(Duration.ofSeconds(2)), false).answerNanos());
    }

    /**
     * The next attempt in the queue leaves at this moment. Its token is never used, and the outcome is that of the
     * lease.
     */
    @Test
    void whatNobodyTookIsToldOnceAndUnderItsOwnToken() {
        Workshop shop = new Workshop(runtime, store, OPTIONS, List.of(listener));
        HeldGrant keeper = shop.keeper();
        LeaseHandle lease = keeper.begin(shop.context.suspensions().mark(), null);
        AcquireAttempt waiter = shop.waiter();
        shop.queues.enter(waiter);
        AtomicReference<CompletableFuture<ReleaseOutcome>> release = new AtomicReference<>();
        waiter.result()
                .whenComplete((attempt, error) -> release.set(lease.state().release()));
        waiter.giveUp();
        assertThat(release.get()).isCompletedWithValue(ReleaseOutcome.RELEASED);
        assertThat(news).containsExactly("RELEASED 1000");
    }

    /**
     * The client closes while the grant is being offered, and ends the lease that no attempt has taken. The former
     * holder is notified, too.
     */
    @Test
    void whoGaveItBackIsToldThoughTheCloseEndsWhatIsBeingOffered() {
        Workshop shop = new Workshop(runtime, store, OPTIONS, List.of(listener));
        HeldGrant keeper = shop.keeper();
        LeaseHandle lease = keeper.begin(shop.context.suspensions().mark(), null);
        shop.queues.enter(new GoneByTheClose(keeper));
        assertThat(lease.releaseAsync()).isCompletedWithValue(ReleaseOutcome.RELEASED);
    }

    /** An attempt that the close withdraws while it is being offered a lease. */
    private record GoneByTheClose(HeldGrant grant) implements LocalQueues.Contender {

        @Override
        public LockName name() {
            return Workshop.NAME;
        }

        @Override
        public LockOptions options() {
            return OPTIONS;
        }

        @Override
        public AcquireMachine.Offer handOver(ActiveLease lease) {
            grant.endAtClose();
            return AcquireMachine.Offer.GONE;
        }

        @Override
        public void on(AcquireMachine.Event event) {}

        @Override
        public void handedOver(HandOver handOver) {}

        @Override
        public boolean claimed(Claim claim) {
            return false;
        }

        @Override
        public void clientClosing() {}
    }

    /** The attempt already contends with the store, and may have been granted the lock there. */
    @Test
    void whoContendsAtTheStoreIsHandedNothing() {
        CompletableFuture<Lease> contending = client.named(A).acquireAsync();
        last().answer().complete(new AcquireReply.Queued(null, 50, List.of()));
        CompletableFuture<MultiLease> several = client.all(A, B).acquireAsync();
        assertThat(last().request().names()).containsExactly(A, B);
        grant(64);
        assertThat(several).isCompleted();
        several.join().releaseAsync();
        assertThat(contending).isNotDone();
        assertThat(store.releases().stream().map(request -> request.names().get(0)))
                .containsExactlyInAnyOrder(A, B);
    }

    @Test
    void onlyTheThreadThatHoldsItWouldWaitForItself() {
        LeaseHandle lease = (LeaseHandle) held();
        lease.state().openedBy(new Thread(() -> {}));
        assertThatCode(() -> client.attempts().refuseSelfWait(A)).doesNotThrowAnyException();
        assertThatCode(() -> client.attempts().refuseSelfWait(B)).doesNotThrowAnyException();
        LeaseHandle own = (LeaseHandle) held(B);
        own.state().openedBy(Thread.currentThread());
        assertThatThrownBy(() -> client.attempts().refuseSelfWait(B)).isInstanceOf(IllegalStateException.class);
        own.releaseAsync();
        assertThatCode(() -> client.attempts().refuseSelfWait(B)).doesNotThrowAnyException();
    }

    private Lease held(LockName name) {
        CompletableFuture<Lease> wanted = client.named(name).acquireAsync();
        grant(1);
        return wanted.join();
    }

    /**
     * Whichever read of a clock fails, even if the lock is to stay taken, the lease ends, and the lock is finally free.
     */
    @Test
    void anErrorAtTheReleaseOfWhatIsKeptLeavesNothing() {
        boolean met = true;
        for (int at = 1; met; at++) {
            StillRuntime still = new StillRuntime();
            SilentStore silent = new SilentStore();
            Workshop shop = new Workshop(still, silent, OPTIONS.atLeast(Duration.ofSeconds(20)));
            HeldGrant keeper = shop.keeper();
            LeaseHandle lease = keeper.begin(shop.context.suspensions().mark(), null);
            AtomicInteger reads = new AtomicInteger();
            int fatal = at;
            still.beforeAClockIsRead(() -> {
                if (reads.incrementAndGet() == fatal) {
                    throw new InternalError("made by the test");
                }
            });
            CompletableFuture<ReleaseOutcome> released = lease.releaseAsync();
            still.beforeAClockIsRead(() -> {});
            met = reads.get() >= at;
            assertThat(released).as("read %d", at).isDone();
            still.pass(Duration.ofMinutes(2));
            assertThat(silent.releases()).as("read %d", at).hasSize(1);
            assertThat(shop.holds.isEmpty()).as("read %d", at).isTrue();
        }
    }

    /** The lease is lost while it is kept. Its holder is done, and its thread may run other code. */
    @Test
    void whoHasGivenItBackIsInterruptedByNoLoss() {
        Workshop shop = new Workshop(runtime, store, OPTIONS.atLeast(Duration.ofSeconds(20)));
        HeldGrant keeper = shop.keeper();
        LeaseHandle lease = keeper.begin(shop.context.suspensions().mark(), null);
        Interruption wanted = new Interruption();
        lease.state().interruptOnLoss(wanted);
        lease.releaseAsync();
        assertThat(store.releases()).as("it is kept").isEmpty();
        keeper.on(new GrantMachine.TakenAway(LossCause.SESSION_LOST));
        assertThat(shop.holds.isEmpty()).as("it is lost").isTrue();
        assertThat(Thread.interrupted()).isFalse();
        wanted.callOff();
        assertThat(wanted.deliver()).as("it was delivered").isFalse();
    }

    /** The store becomes reachable during a repetition; that repetition is enough. */
    @Test
    void whatIsUnderWayIsNotRepeatedWhenTheStoreIsBack() {
        Lease lease = held();
        CompletableFuture<ReleaseReply> first = new CompletableFuture<>();
        CompletableFuture<ReleaseReply> second = new CompletableFuture<>();
        store.answersReleasesWith(first);
        lease.releaseAsync();
        store.ear().reconnected();
        assertThat(store.releases()).hasSize(1);
        store.answersReleasesWith(second);
        first.complete(new ReleaseReply.Failed(
                io.leasehold.spi.FailureKind.UNKNOWN, new StoreUnavailableException("away", null)));
        runtime.pass(Duration.ofMillis(60));
        assertThat(store.releases()).hasSize(2);
        store.ear().reconnected();
        assertThat(store.releases()).hasSize(2);
        second.complete(new ReleaseReply.Released());
        runtime.pass(Duration.ofMinutes(1));
        assertThat(store.releases()).hasSize(2);
    }

    // ---- the boundary

    @Test
    void newsThatFailOfTheirOwnAreToldOnceAndThoseWithoutAThreadHere() {
        AtomicInteger runs = new AtomicInteger();
        assertThatThrownBy(() -> Futures.execute(runtime, () -> {
                    runs.incrementAndGet();
                    throw new IllegalStateException("made by the test");
                }))
                .isInstanceOf(IllegalStateException.class);
        assertThat(runs).hasValue(1);
        runtime.failToStart(1);
        Futures.execute(runtime, runs::incrementAndGet);
        assertThat(runs).hasValue(2);
    }

    @Test
    void aResultIsHandedOverWithItsOwnFailure() {
        IllegalStateException own = new IllegalStateException("made by the test");
        AtomicReference<Throwable> told = new AtomicReference<>();
        for (Throwable failure : List.of(own, new CompletionException(own))) {
            Futures.onCallbackExecutor(runtime, CompletableFuture.failedFuture(failure))
                    .whenComplete((value, error) -> told.set(error));
            assertThat(told).hasValue(own);
        }
        assertThat(Futures.onCallbackExecutor(runtime, CompletableFuture.completedFuture(5)))
                .isCompletedWithValue(5);
    }

    @Test
    void anInterruptIsDeliveredOnceAndNotAfterItWasCalledOff() {
        Interruption wanted = new Interruption();
        assertThat(wanted.deliver()).isTrue();
        assertThat(Thread.interrupted()).isTrue();
        assertThat(wanted.deliver()).as("it has been").isTrue();
        assertThat(Thread.interrupted()).isFalse();
        wanted.callOff();
        assertThat(wanted.deliver()).isTrue();
        Interruption calledOff = new Interruption();
        calledOff.callOff();
        assertThat(calledOff.deliver()).isFalse();
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void aClientWithoutALabelHasAnIdOfThreeParts() {
        assertThat(client.holderId()).matches("[^/]+/[0-9]+/[0-9a-f]{8}");
    }
}
