package io.leasehold.redis;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.redis.node.RedisNode;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;

/** A node with its verbs as plain calls, and its signals. */
final class NodeBench implements AutoCloseable {

    static final LockName NAME = LockName.exactly("order:1");
    static final String LOCK_KEY = "lock:{order:1}";
    static final Duration PATIENCE = Duration.ofSeconds(60);

    final LockRuntime runtime = new SystemLockRuntime();
    final RedisNode node;
    final BlockingQueue<LockName> wakes = new LinkedBlockingQueue<>();
    final AtomicInteger reconnections = new AtomicInteger();
    private long timeoutNanos = TimeUnit.SECONDS.toNanos(20);

    NodeBench(String uri) {
        try {
            this.node = RedisStore.at(uri).openNode(runtime);
        } catch (RuntimeException e) {
            runtime.close();
            throw e;
        }
        node.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {
                wakes.add(name);
            }

            @Override
            public void lost(OwnerToken owner, LossCause cause) {}

            @Override
            public void reconnected() {
                reconnections.incrementAndGet();
            }
        });
    }

    static NodeBench at(int port) {
        return new NodeBench("redis://127.0.0.1:" + port);
    }

    NodeBench timeout(Duration timeout) {
        timeoutNanos = timeout.toNanos();
        return this;
    }

    OwnerToken owner() {
        return OwnerToken.draw(runtime);
    }

    /** A candidate that beats every floor of an honest history: the machine's clock is the server's. */
    long candidate() {
        return runtime.wallMillis() * 1_000 + 1_000_000;
    }

    NodeReply acquire(OwnerToken owner) {
        return acquire(owner, candidate());
    }

    NodeReply acquire(OwnerToken owner, long candidate) {
        return answer(node.acquire(new Ballot(request(owner), candidate, 1)));
    }

    CompletableFuture<NodeReply> send(OwnerToken owner) {
        return node.acquire(new Ballot(request(owner), candidate(), 1));
    }

    NodeReply acquireWaiting(OwnerToken owner) {
        AcquireRequest request = request(owner).waiting(TimeUnit.SECONDS.toNanos(60));
        // Exceeds the earlier proposals of the test in the same millisecond.
        return answer(node.acquire(new Ballot(request, candidate() + 1_000_000, 1)));
    }

    private AcquireRequest request(OwnerToken owner) {
        return AcquireRequest.exclusive(
                List.of(NAME), owner, "host/1/test", TimeUnit.SECONDS.toNanos(300), timeoutNanos);
    }

    ReleaseReply release(OwnerToken owner, long ballot) {
        return answer(node.release(
                new ReleaseRequest(List.of(NAME), owner, ballot, ReleaseRequest.Kind.RELEASE, timeoutNanos)));
    }

    RenewReply.Item renew(OwnerToken owner) {
        RenewBatch.Item item = new RenewBatch.Item(NAME, owner, TimeUnit.SECONDS.toNanos(300));
        return answer(node.renew(new RenewBatch(List.of(item), timeoutNanos)))
                .items()
                .get(0);
    }

    NodeReply probe() {
        return answer(node.probe(timeoutNanos));
    }

    static <T> T answer(CompletableFuture<T> future) {
        try {
            return future.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new AssertionError("the future did not complete normally and in time", e);
        }
    }

    /** Waits until the condition holds. */
    static void until(String what, BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - start > PATIENCE.toNanos()) {
                throw new AssertionError(what + ": not within " + PATIENCE);
            }
            java.util.concurrent.locks.LockSupport.parkNanos(2_000_000L);
        }
    }

    @Override
    public void close() {
        node.close();
        runtime.close();
    }
}
