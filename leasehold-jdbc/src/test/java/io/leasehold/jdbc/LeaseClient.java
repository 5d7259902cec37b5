package io.leasehold.jdbc;

import io.leasehold.LockName;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;

/** A store and its runtime, called with whole requests that have ordinary values. */
final class LeaseClient implements AutoCloseable {

    static final Duration TTL = Duration.ofSeconds(30);
    static final Duration LIMIT = Duration.ofSeconds(20);

    final LockRuntime runtime;
    final LockStore store;

    private LeaseClient(LockRuntime runtime, LockStore store) {
        this.runtime = runtime;
        this.store = store;
    }

    static LeaseClient open(Function<LockRuntime, LockStore> opener) {
        return open(new SystemLockRuntime(), opener);
    }

    static LeaseClient open(LockRuntime runtime, Function<LockRuntime, LockStore> opener) {
        try {
            return new LeaseClient(runtime, opener.apply(runtime));
        } catch (RuntimeException e) {
            runtime.close();
            throw e;
        }
    }

    OwnerToken owner() {
        return OwnerToken.draw(runtime);
    }

    static AcquireRequest request(String name, OwnerToken owner) {
        return AcquireRequest.exclusive(List.of(LockName.exactly(name)), owner, "test", TTL.toNanos(), LIMIT.toNanos());
    }

    AcquireReply acquire(AcquireRequest request) {
        return store.acquire(request).join();
    }

    AcquireReply acquire(String name, OwnerToken owner) {
        return acquire(request(name, owner));
    }

    AcquireReply.Granted granted(String name, OwnerToken owner) {
        AcquireReply reply = acquire(name, owner);
        if (reply instanceof AcquireReply.Failed failed) {
            throw failed.error();
        }
        return (AcquireReply.Granted) reply;
    }

    static ReleaseRequest releaseRequest(String name, OwnerToken owner, long ballot) {
        return new ReleaseRequest(
                List.of(LockName.exactly(name)), owner, ballot, ReleaseRequest.Kind.RELEASE, LIMIT.toNanos());
    }

    ReleaseReply release(String name, OwnerToken owner) {
        return store.release(releaseRequest(name, owner, 0)).join();
    }

    RenewReply.Item renew(String name, OwnerToken owner, Duration ttl) {
        RenewBatch.Item item = new RenewBatch.Item(LockName.exactly(name), owner, ttl.toNanos());
        return store.renew(new RenewBatch(List.of(item), LIMIT.toNanos()))
                .join()
                .items()
                .get(0);
    }

    @Override
    public void close() {
        store.close();
        runtime.close();
    }
}
