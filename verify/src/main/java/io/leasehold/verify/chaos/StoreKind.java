package io.leasehold.verify.chaos;

import io.leasehold.simulator.LeaseKind;
import java.time.Duration;

/** The stores of the runs. */
public enum StoreKind {
    /** A real Redis server that persists every write, behind one proxy per client. */
    REDIS,
    /** Five real Redis servers that form a quorum, behind one proxy per client and server. */
    REDLOCK,
    /** A Redis primary, two replicas and three Sentinels; clients reach them directly. */
    SENTINEL,
    /** A Redis Cluster of three masters with a replica each; clients reach them directly. */
    CLUSTER,
    /** A file that all client processes open. */
    SQLITE,
    /** A PostgreSQL server, behind one proxy per client. */
    POSTGRESQL,
    /** A MariaDB server from the PATH, behind one proxy per client. */
    MARIADB,
    /** A ZooKeeper server of one member, behind one proxy per client. */
    ZK,
    /** A real etcd of one member, behind one proxy per client. */
    ETCD;

    /** The retention of a lease table in these runs; the default is a day. */
    static final Duration RETENTION = Duration.ofSeconds(2);

    /** Whether a fail-over may lose acknowledged writes, so that only the checking resource is guaranteed. */
    boolean isBestEffort() {
        return this == SENTINEL || this == CLUSTER;
    }

    /** Whether clients can have leases of this kind. */
    boolean keeps(LeaseKind kind) {
        return switch (kind) {
            case LOCKS, PERMITS, READERS -> true;
            case TICKETS -> this != ZK;
        };
    }

    /** The option in the URI without which these queues keep only locks and permits. */
    String option(LeaseKind kind) {
        boolean readers = kind == LeaseKind.READERS || kind == LeaseKind.TICKETS;
        return readers && (this == ZK || this == ETCD) ? "readers=true" : "";
    }

    /**
     * Whether locks are in a lease table, from which housekeeping removes rows that were not used for a {@link
     * #RETENTION}.
     */
    boolean keepsHouse() {
        return this == POSTGRESQL || this == MARIADB;
    }

    /** Whether clients use more names than they hold at once, so that the store creates and deletes their data. */
    boolean usesManyNames() {
        return keepsHouse() || this == ZK || this == ETCD;
    }

    @Override
    public String toString() {
        return name().toLowerCase(java.util.Locale.ROOT);
    }
}
