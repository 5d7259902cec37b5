package io.leasehold.verify.chaos;

/** The stores that can be run against. */
public enum StoreKind {
    /** A real Redis server that writes everything down, behind one proxy per client. */
    REDIS,
    /** Five real Redis servers that make a quorum, behind one proxy per client and server. */
    REDLOCK,
    /** A Redis primary, two replicas and three Sentinels; clients go to them directly. */
    SENTINEL,
    /** A Redis Cluster of three masters with a replica each; clients go to them directly. */
    CLUSTER,
    /** A file that all client processes open. */
    SQLITE,
    /** A PostgreSQL server, behind one proxy per client. It is not harmed itself. */
    POSTGRESQL,
    /** A ZooKeeper server of one member, behind one proxy per client. */
    ZK,
    /** A real etcd of one member, behind one proxy per client. */
    ETCD;

    /** Whether a fail-over may forget what was acknowledged, so that only the checking resource is promised anything. */
    boolean isBestEffort() {
        return this == SENTINEL || this == CLUSTER;
    }

    @Override
    public String toString() {
        return name().toLowerCase(java.util.Locale.ROOT);
    }
}
