package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.fail;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Grant;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/** One client side of the store under test, with the verbs of the SPI as plain calls. */
final class StoreDriver {

    static final String HOLDER = "tck-host/1/c0ffee";

    private static final long TIMEOUT_NANOS = Duration.ofSeconds(20).toNanos();

    private final LockStore store;
    private final LockRuntime runtime;
    private final Queue<LockName> wakes = new ConcurrentLinkedQueue<>();

    StoreDriver(LockStore store, LockRuntime runtime) {
        this.store = store;
        this.runtime = runtime;
        store.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {
                wakes.add(name);
            }

            @Override
            public void lost(OwnerToken owner, LossCause cause) {}

            @Override
            public void reconnected() {}
        });
    }

    LockStore store() {
        return store;
    }

    long nanoTime() {
        return runtime.nanoTime();
    }

    OwnerToken owner() {
        return OwnerToken.draw(runtime);
    }

    boolean wasWoken(LockName name) {
        return wakes.contains(name);
    }

    AcquireRequest request(LockName name, OwnerToken owner, Duration ttl) {
        return AcquireRequest.exclusive(List.of(name), owner, HOLDER, ttl.toNanos(), TIMEOUT_NANOS);
    }

    /** Sends one request; repeats it only after a refusal, after which a retry makes sense. */
    AcquireReply acquire(AcquireRequest request) {
        return repeated(() -> store.acquire(request));
    }

    private AcquireReply repeated(Supplier<CompletableFuture<AcquireReply>> request) {
        long start = System.nanoTime();
        while (true) {
            AcquireReply reply = answer(request.get());
            if (!(reply instanceof AcquireReply.Refused) || System.nanoTime() - start > TIMEOUT_NANOS) {
                return reply;
            }
            TckBench.sleepUntil(System.nanoTime(), Duration.ofMillis(5));
        }
    }

    AcquireReply acquire(LockName name, OwnerToken owner, Duration ttl) {
        return acquire(request(name, owner, ttl));
    }

    /** Acquires what must be free or this owner token's. */
    Grant granted(LockName name, OwnerToken owner, Duration ttl) {
        return granted(request(name, owner, ttl));
    }

    Grant granted(AcquireRequest request) {
        return grantOf(acquire(request));
    }

    static Grant grantOf(AcquireReply reply) {
        if (reply instanceof AcquireReply.Failed failed) {
            return fail("acquire failed", failed.error());
        }
        return assertInstanceOf(AcquireReply.Granted.class, reply).grant();
    }

    /** Joins the queue of a lock that another client holds, under a separate holder id. */
    AcquireReply.Queued queued(LockName name, OwnerToken owner, String holderId) {
        return assertInstanceOf(
                AcquireReply.Queued.class,
                acquire(AcquireRequest.exclusive(
                                List.of(name), owner, holderId, TckBench.LONG_TTL.toNanos(), TIMEOUT_NANOS)
                        .waiting(Duration.ofMinutes(5).toNanos())));
    }

    /** Asks for a lock that another client holds, without waiting. */
    AcquireReply.Busy busy(LockName name) {
        OwnerToken asking = owner();
        AcquireReply reply = acquire(name, asking, TckBench.LONG_TTL);
        if (reply instanceof AcquireReply.Failed failed) {
            fail("acquire failed", failed.error());
        }
        return assertInstanceOf(
                AcquireReply.Busy.class, reply, "the lock is held, so a caller that does not wait receives busy");
    }

    /** Asks, with a new owner token, until granted; returns that grant. */
    Grant grantedInTheEnd(LockName name, Duration ttl) {
        OwnerToken owner = owner();
        AcquireReply[] last = new AcquireReply[1];
        TckBench.until("\"" + name + "\" is granted", () -> {
            last[0] = acquire(name, owner, ttl);
            return last[0] instanceof AcquireReply.Granted;
        });
        return grantOf(last[0]);
    }

    /** Makes a reader of the writer; repeats the request only after a refusal, after which a retry makes sense. */
    AcquireReply downgrade(LockName name, OwnerToken reader, OwnerToken writer, long ballotSoFar) {
        AcquireRequest request =
                request(name.asRead(), reader, TckBench.LONG_TTL).ballotSoFar(ballotSoFar);
        return repeated(() -> store.downgrade(request, writer));
    }

    RenewReply.Item renew(LockName name, OwnerToken owner, Duration ttl) {
        return renew(List.of(new RenewBatch.Item(name, owner, ttl.toNanos()))).get(0);
    }

    List<RenewReply.Item> renew(List<RenewBatch.Item> items) {
        return answer(store.renew(new RenewBatch(items, TIMEOUT_NANOS))).items();
    }

    ReleaseReply release(LockName name, Grant grant) {
        return end(name, grant.owner(), grant.tokens().last(), ReleaseRequest.Kind.RELEASE);
    }

    ReleaseReply undo(LockName name, OwnerToken owner, long ballot) {
        return end(name, owner, ballot, ReleaseRequest.Kind.UNDO);
    }

    private ReleaseReply end(LockName name, OwnerToken owner, long ballot, ReleaseRequest.Kind kind) {
        ReleaseReply reply =
                answer(store.release(new ReleaseRequest(List.of(name), owner, ballot, kind, TIMEOUT_NANOS)));
        if (reply instanceof ReleaseReply.Failed failed) {
            fail("release failed", failed.error());
        }
        return reply;
    }

    /** The value of the future; that it completes normally, and in time, is a part of the contract. */
    <T> T answer(CompletableFuture<T> future) {
        try {
            return future.get(TckBench.PATIENCE.toSeconds(), TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return fail("interrupted", e);
        } catch (TimeoutException e) {
            return fail("the store did not answer within its time limit of 20 s", e);
        } catch (java.util.concurrent.ExecutionException e) {
            return fail("the store's future completed exceptionally", e.getCause());
        }
    }
}
