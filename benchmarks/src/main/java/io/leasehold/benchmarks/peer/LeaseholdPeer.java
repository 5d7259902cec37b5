package io.leasehold.benchmarks.peer;

import io.leasehold.Acquirable;
import io.leasehold.Fairness;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import java.time.Duration;
import java.util.concurrent.locks.Lock;

/** Leasehold by its public API. */
final class LeaseholdPeer implements Peer {

    /** The kind of lease that a name stands for. */
    interface Kind {
        Acquirable<? extends Lease> of(LockClient client, String name);
    }

    private static final Kind LOCK = LockClient::named;
    static final Kind READER = (client, name) -> client.readWrite(name).read();
    static final Kind ONE_PERMIT = (client, name) -> client.permits(name, 1);

    private final LockClient client;
    private final Kind kind;

    LeaseholdPeer(String uri, Duration ttl, Fairness fairness) {
        this(uri, ttl, fairness, LOCK);
    }

    LeaseholdPeer(String uri, Duration ttl, Kind kind) {
        this(uri, ttl, Fairness.BOUNDED_LOCAL_HAND_OVER, kind);
    }

    private LeaseholdPeer(String uri, Duration ttl, Fairness fairness, Kind kind) {
        this.kind = kind;
        client = Leasehold.builder()
                .store(uri)
                .defaults(LockOptions.defaults().ttl(ttl).fairness(fairness))
                .connect();
    }

    @Override
    public Held acquire(String name) throws InterruptedException {
        Lease lease = kind.of(client, name).acquire();
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
