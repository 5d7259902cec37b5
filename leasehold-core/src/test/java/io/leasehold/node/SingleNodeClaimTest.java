package io.leasehold.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Claim;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.TokenRange;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Which messages the store of one node makes a claim of. */
@Tag("quick")
final class SingleNodeClaimTest {

    private static final LockName NAME = LockName.exactly("order:1");
    private static final LockName PERMITS = LockName.exactly("pool").asPermits(3);
    private static final long CLAIM = Duration.ofSeconds(4).toNanos();

    private final LockRuntime system = new SystemLockRuntime();
    /** The time for which the machine has slept, which only the wall clock shows. */
    private long sleptMillis;

    private final LockRuntime runtime = (LockRuntime) Proxy.newProxyInstance(
            LockRuntime.class.getClassLoader(), new Class<?>[] {LockRuntime.class}, (proxy, method, arguments) -> {
                Object answer = method.invoke(system, arguments);
                return method.getName().equals("wallMillis") ? (Object) ((long) answer + sleptMillis) : answer;
            });
    private final Node node = new Node(new InMemoryNode(runtime));
    private final SingleNodeStore store = new SingleNodeStore(node, runtime);
    private final List<Claim> claims = new ArrayList<>();
    private final List<HandOver> handOvers = new ArrayList<>();
    private boolean begins = true;
    private boolean breaks;
    private final OwnerToken waiter = OwnerToken.draw(runtime);

    /** A node whose messages are those of the test. */
    private static final class Node extends PassingNode {
        private @Nullable StoreSignals signals;
        private NodeReply.@Nullable Answered last;
        private boolean silent;

        Node(LockNode node) {
            super(node);
        }

        @Override
        public void listen(StoreSignals listener) {
            signals = listener;
        }

        @Override
        public CompletableFuture<NodeReply> acquire(Ballot ballot) {
            if (silent) {
                return new CompletableFuture<>();
            }
            return super.acquire(ballot).thenApply(reply -> {
                last = (NodeReply.Answered) reply;
                return reply;
            });
        }
    }

    @BeforeEach
    void listen() {
        store.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {}

            @Override
            public void handedOver(HandOver handOver) {
                handOvers.add(handOver);
            }

            @Override
            public boolean claimed(Claim claim) {
                claims.add(claim);
                if (breaks) {
                    throw new IllegalStateException("made by the test");
                }
                return begins;
            }

            @Override
            public void lost(OwnerToken owner, LossCause cause) {}

            @Override
            public void reconnected() {}
        });
        assertThat(ask(OwnerToken.draw(runtime), 0)).isInstanceOf(AcquireReply.Granted.class);
    }

    @AfterEach
    void close() {
        store.close();
        system.close();
    }

    private AcquireReply ask(OwnerToken owner, long claimNanos) {
        return ask(NAME, owner, claimNanos, 1);
    }

    private AcquireReply ask(LockName name, OwnerToken owner, long claimNanos, int number) {
        AcquireRequest request = AcquireRequest.exclusive(
                        List.of(name),
                        owner,
                        "host/1/x",
                        Duration.ofSeconds(30).toNanos(),
                        Duration.ofSeconds(3).toNanos())
                .reserve(number);
        return store.acquire(
                        claimNanos == 0
                                ? request
                                : request.waiting(Duration.ofSeconds(3).toNanos())
                                        .claiming(claimNanos))
                .join();
    }

    private AcquireReply waits() {
        return ask(waiter, CLAIM);
    }

    private NodeReply.Answered last() {
        return Objects.requireNonNull(node.last);
    }

    private void told(LockName name, OwnerToken owner, Incarnation server) {
        HandOver.Channel channel = new HandOver.Channel(server, runtime.nanoTime() - 1_000_000_000L);
        HandOver handOver = new HandOver(name, owner.attemptId(), TokenRange.of(9, 2), last().serverMicros(), channel);
        Objects.requireNonNull(node.signals).handedOver(handOver);
    }

    private void told(LockName name, TokenRange tokens, int... slots) {
        HandOver.Channel channel = new HandOver.Channel(last().incarnation(), runtime.nanoTime() - 1_000_000_000L);
        HandOver handOver = new HandOver(name, waiter.attemptId(), tokens, last().serverMicros(), channel);
        Objects.requireNonNull(node.signals)
                .handedOver(handOver.ofSlots(IntStream.of(slots).boxed().toList()));
    }

    private void told() {
        told(NAME, waiter, last().incarnation());
    }

    @Test
    void aHandOverToAWaiterIsAClaimFromTheSendingOfItsRequestOn() {
        long before = runtime.nanoTime();
        assertThat(waits()).isInstanceOf(AcquireReply.Queued.class);
        long after = runtime.nanoTime();
        told();
        assertThat(claims).singleElement().satisfies(claim -> {
            assertThat(claim.grant().owner()).isEqualTo(waiter);
            assertThat(claim.grant().tokens()).isEqualTo(TokenRange.of(9, 2));
            // A millisecond less, since the wall clock, which detects a sleep, shows whole ones.
            assertThat(claim.grant().sentAtNanos()).isBetween(before - 2_000_000L, after);
            assertThat(claim.claimNanos()).isEqualTo(CLAIM);
        });
        assertThat(handOvers).isEmpty();
    }

    /** The waiter wants two of three permits, all of which are held. */
    private void waitsForTwoPermits() {
        assertThat(ask(PERMITS, OwnerToken.draw(runtime), 0, 3)).isInstanceOf(AcquireReply.Granted.class);
        assertThat(ask(PERMITS, waiter, CLAIM, 2)).isInstanceOf(AcquireReply.Queued.class);
    }

    @Test
    void aHandOverOfPermitsIsAClaimOfTheSlotsThatItNames() {
        waitsForTwoPermits();
        told(LockName.exactly("pool").asPermits(3), TokenRange.of(9, 2), 0, 2);
        assertThat(claims).singleElement().satisfies(claim -> {
            assertThat(claim.grant().owner()).isEqualTo(waiter);
            assertThat(claim.grant().tokens()).isEqualTo(TokenRange.of(9, 2));
            assertThat(claim.grant().slots()).containsExactly(0, 2);
            assertThat(claim.claimNanos()).isEqualTo(CLAIM);
        });
        assertThat(handOvers).isEmpty();
    }

    /** The waiter asks, and the store decides which slots it has, and whether it is refused. */
    @Test
    void aHandOverOfOtherPermitsThanRequestedIsAWakeUp() {
        waitsForTwoPermits();
        wakes(PERMITS, TokenRange.of(9, 2));
        wakes(PERMITS, TokenRange.of(9, 2), 0);
        wakes(PERMITS, TokenRange.of(9, 2), 0, 1, 2);
        wakes(PERMITS, TokenRange.of(9, 2), 1, 1);
        wakes(PERMITS, TokenRange.of(9, 2), 2, 1);
        wakes(PERMITS, TokenRange.of(9, 2), -1, 1);
        wakes(PERMITS, TokenRange.of(9, 2), 1, 3);
        wakes(PERMITS, TokenRange.of(9, 1), 0, 1);
        wakes(PERMITS, TokenRange.of(9, 3), 0, 1);
        wakes(LockName.exactly("pool"), TokenRange.of(9, 2), 0, 1);
    }

    /** An operator has changed the count since: the waiter states another one, so the store refuses it. */
    @Test
    void aHandOverOfPermitsWithAnotherCountIsAWakeUp() {
        waitsForTwoPermits();
        wakes(LockName.exactly("pool").asPermits(), TokenRange.of(9, 2), 0, 1);
        wakes(LockName.exactly("pool").asPermits(2), TokenRange.of(9, 2), 0, 1);
        wakes(LockName.exactly("pool").asPermits(4), TokenRange.of(9, 2), 0, 1);
    }

    @Test
    void aHandOverOfALockThatNamesSlotsIsAWakeUp() {
        waits();
        told(NAME, TokenRange.of(9, 1), 0);
        assertThat(claims).isEmpty();
        assertThat(handOvers).hasSize(1);
    }

    /** Tells the waiter, which has asked again since the last message. */
    private void wakes(LockName name, TokenRange tokens, int... slots) {
        assertThat(ask(PERMITS, waiter, CLAIM, 2)).isInstanceOf(AcquireReply.Queued.class);
        int before = handOvers.size();
        told(name, tokens, slots);
        assertThat(claims).isEmpty();
        assertThat(handOvers).hasSize(before + 1);
    }

    @Test
    void aSleepOfTheMachineIsAPartOfTheClaim() {
        long before = runtime.nanoTime();
        waits();
        sleptMillis = 700;
        told();
        assertThat(claims)
                .singleElement()
                .satisfies(claim ->
                        assertThat(claim.grant().sentAtNanos() - before).isBetween(-702_000_000L, -500_000_000L));
    }

    @Test
    void aClaimFromWhichNoLeaseBeginsIsAWakeUp() {
        begins = false;
        waits();
        told();
        assertThat(claims).hasSize(1);
        assertThat(handOvers).hasSize(1);
    }

    /** Otherwise its waiter would sleep until its recheck, while the claim runs out. */
    @Test
    void aClaimThatBreaksTheListenerIsAWakeUp() {
        breaks = true;
        waits();
        told();
        assertThat(claims).hasSize(1);
        assertThat(handOvers).hasSize(1);
    }

    @Test
    void aSecondMessageForTheSameAnswerIsAWakeUp() {
        waits();
        told();
        told();
        assertThat(claims).hasSize(1);
        assertThat(handOvers).hasSize(1);
    }

    @Test
    void aMessageOfAnotherLifeIsAWakeUp() {
        waits();
        told(NAME, waiter, new Incarnation("another"));
        assertThat(claims).isEmpty();
        assertThat(handOvers).hasSize(1);
    }

    @Test
    void aMessageForAnotherLockOrAttemptIsAWakeUp() {
        waits();
        told(LockName.exactly("order:2"), waiter, last().incarnation());
        told(NAME, OwnerToken.draw(runtime), last().incarnation());
        assertThat(claims).isEmpty();
        assertThat(handOvers).hasSize(2);
    }

    @Test
    void aMessageForAnOwnerTokenThatHasEndedIsAWakeUp() {
        waits();
        store.release(new ReleaseRequest(List.of(NAME), waiter, 9, ReleaseRequest.Kind.UNDO, CLAIM))
                .join();
        told();
        assertThat(claims).isEmpty();
        assertThat(handOvers).hasSize(1);
    }

    /** Nothing is counted from the answer before: the next one is under way, and may grant the lock as well. */
    @Test
    void aMessageDuringARequestIsAWakeUp() {
        waits();
        node.silent = true;
        var underWay = store.acquire(
                AcquireRequest.exclusive(List.of(LockName.exactly("order:2")), waiter, "x", CLAIM, CLAIM));
        told();
        assertThat(underWay).isNotDone();
        assertThat(claims).isEmpty();
        assertThat(handOvers).hasSize(1);
    }

    @Test
    void aWaiterThatAllowsNoHandOverIsWoken() {
        AcquireRequest request = AcquireRequest.exclusive(List.of(NAME), waiter, "host/1/x", CLAIM, CLAIM)
                .waiting(CLAIM);
        assertThat(store.acquire(request).join()).isInstanceOf(AcquireReply.Queued.class);
        told();
        assertThat(claims).isEmpty();
        assertThat(handOvers).hasSize(1);
    }
}
