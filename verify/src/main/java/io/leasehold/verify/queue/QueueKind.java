package io.leasehold.verify.queue;

import io.leasehold.etcd.EtcdModel;
import io.leasehold.verify.run.LockTasks;
import io.leasehold.zookeeper.ZooKeeperModel;
import java.time.Duration;

/** A store whose locks are queues. */
public enum QueueKind {
    /**
     * Leases, transactions, revisions. A lease has whole seconds, and at least an election timeout more than the ttl. With
     * this ttl it has hardly more, so counting too much is detected.
     */
    ETCD(Duration.ofMillis(2_600)),
    /** Sessions, sequential nodes, watches. */
    ZOOKEEPER(LockTasks.TTL);

    private final Duration ttl;

    QueueKind(Duration ttl) {
        this.ttl = ttl;
    }

    /** The ttl of the leases of a run. */
    Duration ttl() {
        return ttl;
    }

    /** Whether this fault can happen there: reads of etcd pass through its leader. */
    boolean knows(QueueFault fault) {
        return this == ZOOKEEPER || fault != QueueFault.STALE_READ;
    }

    QueueModel model(QueueRun run) {
        return this == ETCD ? new EtcdModel(run) : new ZooKeeperModel(run);
    }
}
