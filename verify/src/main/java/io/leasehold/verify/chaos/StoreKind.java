package io.leasehold.verify.chaos;

import java.time.Duration;

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
    /** A PostgreSQL server, behind one proxy per client. */
    POSTGRESQL,
    /** A MariaDB server of the PATH, behind one proxy per client. */
    MARIADB,
    /** A ZooKeeper server of one member, behind one proxy per client. */
    ZK,
    /** A real etcd of one member, behind one proxy per client. */
    ETCD;

    /** How long a lease table keeps rows in these runs; that of users is a day. */
    static final Duration RETENTION = Duration.ofSeconds(2);

    /** Whether a fail-over may forget what was acknowledged, so that only the checking resource is promised anything. */
    boolean isBestEffort() {
        return this == SENTINEL || this == CLUSTER;
    }

    /** Whether locks live in a lease table, of which housekeeping removes what is not used for a {@link #RETENTION}. */
    boolean keepsHouse() {
        return this == POSTGRESQL || this == MARIADB;
    }

    /** Whether clients use more names than they hold at once, so that what the store keeps of a name comes and goes. */
    boolean usesManyNames() {
        return keepsHouse() || this == ZK || this == ETCD;
    }

    @Override
    public String toString() {
        return name().toLowerCase(java.util.Locale.ROOT);
    }
}
