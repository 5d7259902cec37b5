package io.leasehold.verify.chaos;

/** The stores that can be run against. */
public enum StoreKind {
    /** A real Redis server that writes everything down, behind one proxy per client. */
    REDIS,
    /** Five real Redis servers that make a quorum, behind one proxy per client and server. */
    REDLOCK,
    /** A file that all client processes open. */
    SQLITE,
    /** A ZooKeeper server of one member, behind one proxy per client. */
    ZK,
    /** A real etcd of one member, behind one proxy per client. */
    ETCD;

    @Override
    public String toString() {
        return name().toLowerCase(java.util.Locale.ROOT);
    }
}
