package io.leasehold.verify.queue;

import io.leasehold.etcd.EtcdModel;
import io.leasehold.zookeeper.ZooKeeperModel;

/** A store whose locks are queues. */
public enum QueueKind {
    /** Leases, transactions, revisions. */
    ETCD,
    /** Sessions, sequential nodes, watches. */
    ZOOKEEPER;

    QueueModel model(QueueRun run) {
        return this == ETCD ? new EtcdModel(run) : new ZooKeeperModel(run);
    }
}
