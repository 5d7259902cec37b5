package io.leasehold.benchmarks.peer;

import io.leasehold.Fairness;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import java.time.Duration;
import java.util.concurrent.locks.Lock;

/** Leasehold by its public API. */
final class LeaseholdPeer implements Peer {

    private final LockClient client;

    LeaseholdPeer(String uri, Duration ttl, Fairness fairness) {
        client = Leasehold.builder()
                .store(uri)
                .defaults(LockOptions.defaults().ttl(ttl).fairness(fairness))
                .connect();
    }

    @Override
    public Held acquire(String name) throws InterruptedException {
        Lease lease = client.named(name).acquire();
        return lease::close;
    }

    @Override
    public String keyOf(String name) {
        return "lock:{" + name + "}";
    }

    @Override
    public Lock reentrant(String name) {
        return client.named(name).asReentrantLock();
    }

    @Override
    public void close() {
        client.close();
    }
}
