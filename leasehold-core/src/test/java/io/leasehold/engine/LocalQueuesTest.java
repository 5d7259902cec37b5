package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Attempt;
import io.leasehold.Fairness;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.Permit;
import io.leasehold.StoreAccessException;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Claim;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Of the waiters of one process for one lock, one contends at the store; the next follows as soon as it may. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class LocalQueuesTest {

    private static final LockName NAME = LockName.exactly("a");

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final LockClient client =
            Leasehold.builder().store(store).runtime(runtime).connect();

    private CompletableFuture<Lease> wanted() {
        return client.named(NAME).acquireAsync();
    }

    private AcquireReply granted(AcquireRequest request, long first, int count) {
        return new AcquireReply.Granted(
                new Grant(request.owner(), TokenRange.of(first, count), runtime.nanoTime(), Incarnation.DURABLE),
                List.of());
    }

    /** Grants the last request, with this number of tokens. */
    private void grant(long first, int count) {
        var asked = store.acquires().get(store.acquires().size() - 1);
        asked.answer().complete(granted(asked.request(), first, count));
    }

    private Lease held(int tokens) {
        CompletableFuture<Lease> future = wanted();
        grant(100, tokens);
        return future.join();
    }

    @Test
    void theNextAsksAtOnceWhenTheLockIsGivenBack() {
        Lease first = held(1);
        List<CompletableFuture<Lease>> behind = List.of(wanted(), wanted(), wanted());
        int asked = store.acquires().size();
        first.release();
        for (int next = 0; next < 3; next++) {
            assertThat(store.acquires())
                    .as("one asks, for waiter %d", next)
                    .hasSize(asked + next + (asked == 1 ? 1 : 0));
            grant(200 + next, 1);
            assertThat(behind.get(next)).isCompleted();
            behind.get(next).join().release();
        }
        assertThat(store.releases()).hasSize(4);
        assertThat(wanted()).isNotDone();
    }

    @Test
    void theNextAsksAtOnceWhenTheFirstLeaves() {
        CompletableFuture<Lease> first = wanted();
        CompletableFuture<Lease> second = wanted();
        CompletableFuture<Lease> third = wanted();
        store.acquires().get(0).answer().complete(new AcquireReply.Busy(null, 0, List.of()));
        second.cancel(false);
        assertThat(store.acquires())
                .as("it sent no request, and no attempt waited for it")
                .hasSize(1);
        first.cancel(false);
        assertThat(store.acquires()).hasSize(2);
        grant(5, 1);
        assertThat(third).isCompleted();
    }

    @Test
    void theNextAsksAtOnceWhenTheLockIsLost() {
        held(64);
        CompletableFuture<Lease> next = wanted();
        assertThat(store.acquires()).hasSize(1);
        store.ear().lost(store.acquires().get(0).request().owner(), io.leasehold.LossCause.SESSION_LOST);
        assertThat(store.acquires()).hasSize(2);
        grant(500, 1);
        assertThat(next).isCompleted();
    }

    /** A grant may be passed on for 20 ms, and for as many tokens as it has; then the waiter asks the store. */
    @Test
    void aWaiterHopesForAHandOverAsLongAsThereCanBeOne() {
        held(64);
        wanted();
        wanted();
        runtime.pass(Duration.ofMillis(19));
        assertThat(store.acquires()).hasSize(1);
        runtime.pass(Duration.ofMillis(1));
        assertThat(store.acquires()).hasSize(2);
    }

    @Test
    void aHandOverTakesTheNextTokenWhileThereIsOne() {
        Lease lease = held(3);
        List<Long> tokens = new ArrayList<>();
        List<CompletableFuture<Lease>> behind = List.of(wanted(), wanted(), wanted());
        tokens.add(lease.fencingToken());
        lease.release();
        for (int next = 0; next < 2; next++) {
            assertThat(behind.get(next)).isCompleted();
            tokens.add(behind.get(next).join().fencingToken());
            behind.get(next).join().release();
        }
        assertThat(tokens).containsExactly(100L, 101L, 102L);
        assertThat(behind.get(2)).isNotDone();
        assertThat(store.releases()).as("then others may have it").hasSize(1);
        assertThat(store.releases().get(0).ballot()).isEqualTo(102);
        assertThat(store.acquires()).hasSize(2);
    }

    @Test
    void nothingIsHandedOverToOtherOptionsOrByStrictFairness() {
        Lease lease = held(64);
        CompletableFuture<Lease> other =
                client.named(NAME).with(o -> o.ttl(Duration.ofSeconds(77))).acquireAsync();
        assertThat(store.acquires()).as("there is nothing to hope for").hasSize(2);
        lease.release();
        assertThat(other).isNotDone();
        assertThat(store.releases()).hasSize(1);
        other.cancel(false);

        LockName strict = LockName.exactly("strict");
        var lock = client.named(strict).with(o -> o.fairness(Fairness.STRICT_FIFO));
        CompletableFuture<Lease> first = lock.acquireAsync();
        grant(1, 64);
        lock.acquireAsync();
        int asked = store.acquires().size();
        first.join().release();
        assertThat(store.releases()).hasSize(2);
        assertThat(store.acquires()).hasSize(asked);
    }

    /** One timer fires when a hand-over has become impossible, however many attempts wait for it. */
    @Test
    void manyThatHopeCostOneTimer() {
        Workshop shop = new Workshop(runtime, new SilentStore());
        HeldGrant keeper = shop.keeper();
        keeper.begin(shop.context.suspensions().mark(), null);
        shop.queues.enter(shop.waiter());
        int timers = shop.timeline.size();
        for (int i = 0; i < 100; i++) {
            shop.queues.enter(shop.waiter());
        }
        assertThat(shop.timeline.size()).isEqualTo(timers);
    }

    /** A store that has forgotten grants a lower token. The next request still names the higher one. */
    @Test
    void theHighestTokenIsRememberedBehindALowerOne() {
        Workshop shop = new Workshop(runtime, new SilentStore());
        shop.queues.granted(Workshop.NAME, shop.keeper(), 5_000);
        HeldGrant now = shop.keeper();
        shop.queues.granted(Workshop.NAME, now, now.lastToken());
        assertThat(now.lastToken()).isLessThan(5_000);
        assertThat(shop.queues.seenToken(Workshop.NAME)).isEqualTo(5_000);
        shop.queues.ended(Workshop.NAME, now);
        assertThat(shop.queues.isEmpty()).isTrue();
    }

    @Test
    void aGrantForWhichNobodyWaitsAnswersForItsQueue() {
        Workshop shop = new Workshop(runtime, new SilentStore());
        HeldGrant held = shop.keeper();
        shop.queues.granted(Workshop.NAME, held, held.lastToken());
        assertThat(shop.queues.seenToken(Workshop.NAME)).isEqualTo(held.lastToken());
        assertThat(shop.queues.reserve(Workshop.NAME)).isEqualTo(1);
        assertThat(shop.queues.all()).isEmpty();
        AcquireAttempt waiter = shop.waiter();
        shop.queues.enter(waiter);
        assertThat(shop.queues.first(Workshop.NAME)).isSameAs(waiter);
        assertThat(shop.queues.held(Workshop.NAME)).isSameAs(held);
    }

    @Test
    void aQuestionAboutTheHolderLosesNobodyInLine() {
        Lease first = held(1);
        CompletableFuture<Lease> behind = wanted();
        store.ear().takenAway(NAME);
        first.release();
        grant(300, 1);
        assertThat(behind).isCompleted();
    }

    @Test
    void anEarlierGrantThatEndsLateIsNotTheOneThatIsHeld() {
        Workshop shop = new Workshop(runtime, store);
        HeldGrant earlier = shop.keeper();
        HeldGrant now = shop.keeper();
        shop.queues.granted(Workshop.NAME, earlier, 5);
        shop.queues.granted(Workshop.NAME, now, 6);
        shop.queues.ended(Workshop.NAME, earlier);
        assertThat(shop.queues.held(Workshop.NAME)).isSameAs(now);
        assertThat(shop.queues.isEmpty()).isFalse();
        shop.queues.ended(Workshop.NAME, now);
        assertThat(shop.queues.held(Workshop.NAME)).isNull();
        assertThat(shop.queues.isEmpty()).isTrue();
    }

    /** If a store answers at once, each attempt that ends lets the next one contend, and none is forgotten. */
    @Test
    void manyThatAreAnsweredAtOnceAreAllAnswered() {
        Lease lease = held(1);
        List<CompletableFuture<Lease>> behind =
                IntStream.range(0, 1_500).mapToObj(i -> wanted()).toList();
        store.answersAtOnce(request ->
                new AcquireReply.Failed(FailureKind.PERMANENT, new StoreAccessException("made by the test", null), 0));
        lease.release();
        store.acquires().forEach(asked -> asked.answer().complete(new AcquireReply.Busy(null, 0, List.of())));
        runtime.pass(Duration.ofMinutes(1));
        assertThat(behind).allMatch(CompletableFuture::isCompletedExceptionally);
    }

    /** If the store names no holder, this process knows whether it is the holder itself. */
    @Test
    void whoIsRefusedBecauseOfItsOwnProcessIsToldOfIt() {
        held(1);
        runtime.pass(Duration.ofSeconds(3));
        CompletableFuture<Attempt<Lease>> refused = client.named(NAME).attemptAsync(Duration.ZERO);
        store.acquires().get(store.acquires().size() - 1).answer().complete(new AcquireReply.Busy(null, 0, List.of()));
        Attempt.Busy<Lease> busy = (Attempt.Busy<Lease>) refused.join();
        assertThat(busy.holder().id()).isEqualTo(client.holderId());
        assertThat(busy.holder().fencingToken()).hasValue(100);
        assertThat(busy.holder().remainingTtl()).isBetween(Duration.ofSeconds(20), Duration.ofSeconds(27));
    }

    // ---- signals of the store

    private static HandOver handOver(OwnerToken owner) {
        return handOver(NAME, owner);
    }

    private static HandOver handOver(LockName name, OwnerToken owner) {
        return new HandOver(name, owner.attemptId(), TokenRange.of(700, 4), 0);
    }

    @Test
    void aHandOverIsForTheAttemptThatItNames() {
        wanted();
        store.acquires().get(0).answer().complete(new AcquireReply.Queued(null, 50, List.of()));
        store.ear().handedOver(handOver(OwnerToken.fromHex("b".repeat(40))));
        assertThat(store.acquires()).hasSize(1);
        store.ear().handedOver(handOver(store.acquires().get(0).request().owner()));
        assertThat(store.acquires()).hasSize(2);
        assertThat(store.acquires().get(1).request().ballotSoFar()).isEqualTo(703);
        assertThat(store.acquires().get(1).request().owner())
                .isEqualTo(store.acquires().get(0).request().owner());
    }

    /** Two callers that state different counts both wait at the store, since the count may change while they wait. */
    @Test
    void permitsAreHandedToTheCallerThatStatesAnotherCount() {
        store.keeps(new InMemoryNode(runtime).permits().orElseThrow());
        client.permits("pool", 1).acquireAsync();
        client.permits("pool", 2).acquireAsync();
        client.permits("pool", 2).acquireAsync();
        assertThat(store.acquires()).as("the first, and those of another count").hasSize(3);
        store.acquires().forEach(asked -> asked.answer().complete(new AcquireReply.Queued(null, 50, List.of())));
        OwnerToken second = store.acquires().get(1).request().owner();
        store.ear().handedOver(handOver(LockName.exactly("pool").asPermits(), second));
        assertThat(store.acquires()).hasSize(4);
        assertThat(store.acquires().get(3).request().owner()).isEqualTo(second);
        store.acquires().get(3).answer().complete(new AcquireReply.Queued(null, 50, List.of()));
        store.ear().wake(LockName.exactly("pool").asPermits());
        assertThat(store.acquires()).as("each asks again").hasSize(7);
    }

    @Test
    void aClaimOfPermitsBeginsThoseOfTheCallerThatStatesAnotherCount() {
        store.keeps(new InMemoryNode(runtime).permits().orElseThrow());
        CompletableFuture<Permit> first = client.permits("pool", 1).acquireAsync();
        CompletableFuture<Permit> other = client.permits("pool", 2).acquireAsync();
        store.acquires().forEach(asked -> asked.answer().complete(new AcquireReply.Queued(null, 50, List.of())));
        assertThat(store.ear().claimed(claim(OwnerToken.fromHex("b".repeat(40)))))
                .isFalse();
        assertThat(store.ear().claimed(claim(store.acquires().get(1).request().owner())))
                .isTrue();
        assertThat(first).isNotDone();
        assertThat(other.join().slot()).isEqualTo(1);
        assertThat(store.acquires()).hasSize(2);
    }

    private Claim claim(OwnerToken owner) {
        TokenRange tokens = TokenRange.of(700, 1);
        HandOver message = new HandOver(LockName.exactly("pool").asPermits(2), owner.attemptId(), tokens, 0);
        Grant grant = new Grant(owner, tokens, runtime.nanoTime(), Incarnation.DURABLE, 1);
        return new Claim(message.ofSlots(grant.slots()), grant, 4_000_000_000L);
    }

    @Test
    void newsOfALockThatNobodyWaitsForAreNothing() {
        store.ear().wake(NAME);
        store.ear().handedOver(handOver(OwnerToken.fromHex("b".repeat(40))));
        store.ear().reconnected();
        store.ear().takenAway(NAME);
        assertThat(store.acquires()).isEmpty();
        assertThat(store.renewals()).isEmpty();
    }
}
