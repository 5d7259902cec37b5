package io.leasehold.testkit.tck;

import static io.leasehold.testkit.tck.TckBench.LONG_TTL;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.fail;

import io.leasehold.Guarantee;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.node.Ballot;
import io.leasehold.node.LockNode;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/** A node with a unique lock name, and its operations as plain calls. */
final class NodeDriver implements AutoCloseable {

    static final long TIMEOUT_NANOS = Duration.ofSeconds(20).toNanos();

    private final WallTimeRuntime runtime = new WallTimeRuntime();
    private final LockName name;
    private final LockNode node;
    private final Map<String, HandOver> handOvers = new ConcurrentHashMap<>();

    NodeDriver(Function<LockRuntime, LockNode> opener) {
        this(opener, name -> name);
    }

    /**
     * Opens a node.
     *
     * @param kind makes the name of the kind of lock under test
     */
    NodeDriver(Function<LockRuntime, LockNode> opener, UnaryOperator<LockName> kind) {
        byte[] random = new byte[6];
        ThreadLocalRandom.current().nextBytes(random);
        name = kind.apply(LockName.exactly("tck-node-" + HexFormat.of().formatHex(random)));
        node = opener.apply(runtime);
        node.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {}

            @Override
            public void handedOver(HandOver handOver) {
                handOvers.put(handOver.attemptId(), handOver);
            }

            @Override
            public void lost(OwnerToken owner, LossCause cause) {}

            @Override
            public void reconnected() {}
        });
    }

    OwnerToken owner() {
        return OwnerToken.draw(runtime);
    }

    NodeReply probe() {
        return answer(node.probe(name, TIMEOUT_NANOS));
    }

    /** The node's clock. */
    long micros() {
        return assertInstanceOf(NodeReply.Answered.class, probe()).serverMicros();
    }

    NodeReply propose(OwnerToken owner, long candidate, int reserve) {
        return propose(List.of(name), owner, candidate, reserve);
    }

    /** Another lock of the node; empty if the node grants no two locks in one step. */
    Optional<LockName> another() {
        LockName other = LockName.exactly(name.text() + "-other");
        return node.isAtomicOver(List.of(name, other)) ? Optional.of(other) : Optional.empty();
    }

    /** Proposes for the lock and another one in one step. */
    NodeReply proposeWith(LockName other, OwnerToken owner, long candidate) {
        return propose(List.of(name, other), owner, candidate, 1);
    }

    private NodeReply propose(List<LockName> names, OwnerToken owner, long candidate, int reserve) {
        AcquireRequest request = AcquireRequest.exclusive(
                        names, owner, StoreDriver.HOLDER, LONG_TTL.toNanos(), TIMEOUT_NANOS)
                .reserve(reserve);
        NodeReply reply = answer(node.acquire(new Ballot(request, candidate, reserve)));
        return reply instanceof NodeReply.Failed failed ? fail("acquire failed", failed.error()) : reply;
    }

    /** Proposes, and waits in the queue if the lock is busy; zero for a waiter that is to be woken only. */
    NodeReply queue(OwnerToken owner, long candidate, int reserve, Duration claim) {
        AcquireRequest request = AcquireRequest.exclusive(
                        List.of(name), owner, StoreDriver.HOLDER, LONG_TTL.toNanos(), TIMEOUT_NANOS)
                .reserve(reserve)
                .waiting(Duration.ofMinutes(5).toNanos());
        NodeReply reply = answer(node.acquire(new Ballot(request, candidate, reserve, claim.toNanos())));
        return reply instanceof NodeReply.Failed failed ? fail("acquire failed", failed.error()) : reply;
    }

    /** The hand-over to the waiter; waits until it comes. */
    HandOver handedTo(OwnerToken owner) {
        TckBench.until("the waiter is notified of its hand-over", () -> wasHanded(owner));
        return Objects.requireNonNull(handOvers.get(owner.attemptId()));
    }

    boolean wasHanded(OwnerToken owner) {
        return handOvers.containsKey(owner.attemptId());
    }

    boolean isFifo() {
        return node.guarantees().covers(Guarantee.Queueing.FIFO);
    }

    ReleaseReply end(OwnerToken owner, long ballot) {
        return answer(node.release(
                new ReleaseRequest(List.of(name), owner, ballot, ReleaseRequest.Kind.UNDO, TIMEOUT_NANOS)));
    }

    RenewReply.Item renew(OwnerToken owner) {
        RenewBatch.Item item = new RenewBatch.Item(name, owner, LONG_TTL.toNanos());
        return answer(node.renew(new RenewBatch(List.of(item), TIMEOUT_NANOS)))
                .items()
                .get(0);
    }

    private static <T> T answer(CompletableFuture<T> future) {
        try {
            return future.get(TckBench.PATIENCE.toSeconds(), TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return fail("interrupted", e);
        } catch (ExecutionException | TimeoutException e) {
            return fail("the node did not answer normally within its time limit", e);
        }
    }

    @Override
    public void close() {
        node.close();
        runtime.close();
    }
}
