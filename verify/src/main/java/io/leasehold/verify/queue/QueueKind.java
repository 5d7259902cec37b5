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
    ZOOKEEPER(LockTasks.TTL),
    /** etcd, where clients also read and downgrade. */
    ETCD_READERS(Duration.ofMillis(2_600)),
    /** ZooKeeper, where clients also read and downgrade. */
    ZOOKEEPER_READERS(LockTasks.TTL);

    private final Duration ttl;

    QueueKind(Duration ttl) {
        this.ttl = ttl;
    }

    /** Whether locks have readers. */
    boolean hasReaders() {
        return this == ETCD_READERS || this == ZOOKEEPER_READERS;
    }

    private boolean isEtcd() {
        return this == ETCD || this == ETCD_READERS;
    }

    /** The ttl of the leases of a run. */
    Duration ttl() {
        return ttl;
    }

    /** Whether this fault can happen there: reads of etcd pass through its leader. */
    boolean knows(QueueFault fault) {
        return !isEtcd() || fault != QueueFault.STALE_READ;
    }

    QueueModel model(QueueRun run) {
        return isEtcd() ? new EtcdModel(run, hasReaders()) : new ZooKeeperModel(run, hasReaders());
    }
}
