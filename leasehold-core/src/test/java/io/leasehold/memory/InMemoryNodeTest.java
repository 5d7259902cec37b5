package io.leasehold.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.node.Ballot;
import io.leasehold.node.Birth;
import io.leasehold.node.Membership;
import io.leasehold.node.NodeReply;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.StoreSignals;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class InMemoryNodeTest {

    private static final LockName NAME = LockName.exactly("n");
    private static final String SET = "a,b,c";
    private static final long QUARANTINE_MICROS = 1_000;

    @Test
    void aNodeThatLivesOnForgetsTheClosedClient() {
        SystemLockRuntime runtime = new SystemLockRuntime();
        InMemoryNode node = new InMemoryNode(runtime);
        AtomicInteger told = new AtomicInteger();
        StoreSignals ear = new StoreSignals() {
            @Override
            public void wake(LockName name) {
                told.incrementAndGet();
            }

            @Override
            public void lost(OwnerToken owner, LossCause cause) {
                told.incrementAndGet();
            }

            @Override
            public void reconnected() {
                told.incrementAndGet();
            }
        };
        SingleNodeStore closed = new SingleNodeStore(node, runtime);
        closed.listen(ear);
        SingleNodeStore other = new SingleNodeStore(node, runtime);
        other.listen(ear);
        AcquireRequest request =
                AcquireRequest.exclusive(List.of(NAME), OwnerToken.draw(runtime), "h", 60_000_000_000L, 1_000_000_000L);

        other.acquire(request).join();
        node.admin().forceRelease(NAME, null).join();
        int whileBothAreOpen = told.getAndSet(0);
        closed.close();
        other.acquire(request).join();
        node.admin().forceRelease(NAME, null).join();

        assertThat(whileBothAreOpen)
                .as("the loss, reported to both; no client waits to be woken")
                .isEqualTo(2);
        assertThat(told).hasValue(1);
        runtime.close();
    }

    /** A client that receives a signal may wait for another client that asks the node. */
    @Test
    void clientsAreToldWithoutTheLockOfTheNode() {
        SystemLockRuntime runtime = new SystemLockRuntime();
        InMemoryNode node = new InMemoryNode(runtime);
        List<Boolean> answered = new ArrayList<>();
        node.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {
                answered.add(
                        CompletableFuture.supplyAsync(() -> node.describe(name).join())
                                .thenApply(Optional::isEmpty)
                                .completeOnTimeout(false, 30, TimeUnit.SECONDS)
                                .join());
            }

            @Override
            public void lost(OwnerToken owner, LossCause cause) {}

            @Override
            public void reconnected() {}
        });
        AcquireRequest held =
                AcquireRequest.exclusive(List.of(NAME), OwnerToken.draw(runtime), "h", 60_000_000_000L, 1_000_000_000L);
        AcquireRequest waiting = AcquireRequest.exclusive(
                        List.of(NAME), OwnerToken.draw(runtime), "w", 60_000_000_000L, 1_000_000_000L)
                .waiting(3_000_000_000L);
        long candidate = runtime.wallMillis() * 1_000 + 1_000_000;
        assertThat(node.acquire(new Ballot(held, candidate, 1)).join()).isInstanceOf(NodeReply.Yes.class);
        assertThat(node.acquire(new Ballot(waiting, candidate + 10, 1)).join()).isInstanceOf(NodeReply.Held.class);
        node.release(new ReleaseRequest(
                List.of(NAME), held.owner(), candidate, ReleaseRequest.Kind.RELEASE, 1_000_000_000L));
        assertThat(answered).containsExactly(true);
        runtime.close();
    }

    @Test
    void aLifeThatComesBackFromOlderDataIsBornAgain() {
        Incarnation saved = new Incarnation("saved");
        Incarnation restored = new Incarnation("restored");
        MemberMarker marker = new MemberMarker();
        Membership mayForget = member(Membership.Persistence.VOLATILE);
        NodeReply.Unborn unborn = (NodeReply.Unborn) marker.refusal(mayForget, saved, 0);
        marker.birth(new Birth(unborn.nonce(), 0, SET, 1), saved, 0);

        assertThat(marker.refusal(mayForget, saved, 0))
                .as("the life that was born")
                .isNull();
        assertThat(marker.copy().refusal(mayForget, restored, 0))
                .as("another life, with what was saved of the first")
                .isInstanceOf(NodeReply.Unborn.class);
        assertThat(marker.copy().refusal(member(Membership.Persistence.DURABLE), restored, 0))
                .as("another life of a node that forgets nothing")
                .isNull();
    }

    private static Membership member(Membership.Persistence persistence) {
        return new Membership(SET, 2 * QUARANTINE_MICROS, QUARANTINE_MICROS, 1_000_000, persistence);
    }
}
