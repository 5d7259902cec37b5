package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The requests of one attempt, their owner tokens, and the timers that the attempt leaves armed. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
@Timeout(60)
final class AcquireAttemptStepsTest {

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final Workshop shop = new Workshop(runtime, store);

    private AcquireAttempt entered(Duration patience) {
        AcquireAttempt attempt = shop.waiter(patience.toNanos());
        shop.queues.enter(attempt);
        return attempt;
    }

    private SilentStore.Asked<AcquireRequest, AcquireReply> last() {
        return store.acquires().get(store.acquires().size() - 1);
    }

    private void queued() {
        last().answer().complete(new AcquireReply.Queued(null, 1, List.of()));
    }

    private void grantedAfter(Duration onTheWay) {
        Grant grant = new Grant(
                last().request().owner(),
                TokenRange.of(7, 1),
                runtime.nanoTime() - onTheWay.toNanos(),
                Incarnation.DURABLE);
        last().answer().complete(new AcquireReply.Granted(grant, List.of()));
    }

    /** Nothing may be sent with a token that is being ended: the undo would also end the next grant. */
    @Test
    void afterAnUndoTheNextRequestHasAnotherOwnerToken() {
        AcquireAttempt attempt = entered(Duration.ofMinutes(1));
        AcquireRequest first = last().request();
        grantedAfter(Duration.ofSeconds(29));
        assertThat(store.releases()).singleElement().satisfies(undo -> {
            assertThat(undo.owner()).isEqualTo(first.owner());
            assertThat(undo.kind()).isEqualTo(ReleaseRequest.Kind.UNDO);
        });
        runtime.pass(Duration.ofSeconds(2));
        assertThat(store.acquires()).hasSize(2);
        AcquireRequest second = last().request();
        assertThat(second.owner()).isNotEqualTo(first.owner());
        queued();
        shop.queues.wake(Workshop.NAME);
        assertThat(last().request().owner()).as("and keeps it").isEqualTo(second.owner());
        grantedAfter(Duration.ZERO);
        assertThat(attempt.result().join().orElseThrow().fencingToken()).isEqualTo(7);
    }

    @Test
    void onlyAnAttemptWithPatienceStandsInTheQueueOfTheStore() {
        AcquireAttempt impatient = entered(Duration.ZERO);
        assertThat(last().request().isWaiting()).isFalse();
        assertThat(last().request().claimNanos()).isZero();
        assertThat(last().request().provenWithinNanos()).isZero();
        last().answer().complete(new AcquireReply.Busy(null, 0, List.of()));
        assertThat(impatient.result().join().orElseNull()).isNull();
        entered(Duration.ofNanos(1));
        assertThat(last().request().isWaiting()).isTrue();
        assertThat(last().request().claimNanos()).isPositive();
        assertThat(last().request().provenWithinNanos()).isPositive();
    }

    /**
     * Some nodes of a set may keep the waiter's place although the set has answered busy; a single node then keeps
     * nothing.
     */
    @Test
    void aSetOfNodesIsToldThatAWaiterLeavesAfterBusy() {
        AcquireAttempt atOneNode = entered(Duration.ofMinutes(1));
        last().answer().complete(new AcquireReply.Busy(null, 7, List.of()));
        assertThat(atOneNode.giveUp()).isDone();
        assertThat(store.releases()).isEmpty();
        store.ofNodes = true;
        AcquireAttempt atNodes = entered(Duration.ofMinutes(1));
        AcquireRequest request = last().request();
        last().answer().complete(new AcquireReply.Busy(null, 7, List.of()));
        assertThat(atNodes.giveUp()).isNotNull();
        assertThat(store.releases()).singleElement().satisfies(undo -> {
            assertThat(undo.owner()).isEqualTo(request.owner());
            assertThat(undo.ballot()).isEqualTo(7);
            assertThat(undo.kind()).isEqualTo(ReleaseRequest.Kind.UNDO);
        });
    }

    @Test
    void thePatienceOfACallIsThatOfItsAttempt() {
        EngineClient client = (EngineClient)
                io.leasehold.Leasehold.builder().store(store).runtime(runtime).connect();
        assertThat(client.named("a").attemptAsync(Duration.ofSeconds(5))).isNotDone();
        assertThat(last().request().isWaiting()).isTrue();
        runtime.pass(Duration.ofSeconds(5));
        last().answer().complete(new AcquireReply.Busy(null, 0, List.of()));
        assertThat(client.named("b").attemptAsync(Duration.ZERO)).isNotDone();
        assertThat(last().request().isWaiting()).isFalse();
    }

    /** The caller of an attempt that has ended retries at once: its request must not wait behind that attempt. */
    @Test
    void aCallerThatAsksAgainAtTheEndOfItsAttemptIsNotBehindIt() {
        AcquireAttempt busy = entered(Duration.ZERO);
        List<AcquireAttempt> again = new ArrayList<>();
        busy.result().thenRun(() -> again.add(entered(Duration.ZERO)));
        last().answer().complete(new AcquireReply.Busy(null, 0, List.of()));
        assertThat(store.acquires()).hasSize(2);
        assertThat(again.get(0).result()).isNotDone();
        AcquireAttempt failing = again.get(0);
        failing.result().handle((attempt, error) -> again.add(entered(Duration.ZERO)));
        last().answer()
                .complete(
                        new AcquireReply.Failed(FailureKind.NO_EFFECT, new StoreUnavailableException("away", null), 0));
        assertThat(failing.result()).isCompletedExceptionally();
        assertThat(store.acquires()).hasSize(3);
        assertThat(again.get(1).result()).isNotDone();
    }

    /**
     * The next attempt in the queue begins only after the caller before it was notified: a long queue delays no caller.
     */
    @Test
    void theNextInTheQueueBeginsAfterTheCallerHasHeard() {
        AcquireAttempt first = entered(Duration.ofMinutes(1));
        entered(Duration.ofMinutes(1));
        List<Integer> sentWhenHeard = new ArrayList<>();
        first.result()
                .handle((attempt, error) -> sentWhenHeard.add(store.acquires().size()));
        first.giveUp();
        last().answer().complete(new AcquireReply.Busy(null, 0, List.of()));
        assertThat(sentWhenHeard).containsExactly(1);
        assertThat(store.acquires()).hasSize(2);
    }

    /**
     * A lease that is passed on, but for which no handle can be created, goes to the next attempt. A caller that
     * withdraws the failed attempt then waits for nothing.
     */
    @Test
    void ofAnAttemptWhoseLeaseCannotBeMadeNothingIsLeft() {
        EngineContext all = shop.context;
        EngineContext withoutLeaks = new EngineContext(
                runtime,
                shop.timeline,
                store,
                all.events(),
                all.retrier(),
                all.renewals(),
                shop.holds,
                all.suspensions(),
                null,
                all.announcer(),
                all.holderId());
        HeldGrant keeper = shop.keeper();
        LeaseHandle lease = keeper.begin(all.suspensions().mark(), null);
        AcquireAttempt broken =
                new AcquireAttempt(Workshop.NAME, shop.settings, Long.MAX_VALUE, withoutLeaks, shop.queues, null);
        shop.queues.enter(broken);
        AcquireAttempt next = shop.waiter();
        shop.queues.enter(next);
        assertThat(lease.releaseAsync()).isCompleted();
        assertThat(broken.result()).isCompletedExceptionally();
        assertThat(broken.giveUp()).isDone();
        assertThat(next.result()).isCompleted();
    }

    @Test
    void anAttemptHasOneTimerAndLeavesNone() {
        AcquireAttempt attempt = entered(Duration.ofMinutes(1));
        queued();
        assertThat(shop.timeline.size()).isEqualTo(1);
        for (int i = 0; i < 3; i++) {
            shop.queues.wake(Workshop.NAME);
            queued();
            assertThat(shop.timeline.size())
                    .as("the next look replaces the one before")
                    .isEqualTo(1);
        }
        assertThat(attempt.giveUp()).isNotNull();
        assertThat(attempt.result()).isCompletedExceptionally();
        assertThat(shop.timeline.size()).isZero();
    }
}
