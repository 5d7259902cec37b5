package io.leasehold.benchmarks.peer;

import io.leasehold.Fairness;
import java.time.Duration;
import java.util.List;

/** The peers that can be measured. */
public enum PeerKind {
    /** Leasehold with its defaults. */
    LEASEHOLD("leasehold", true, true),
    /** Leasehold with one request per lease. */
    LEASEHOLD_STRICT("leasehold strict", true, true),
    /** Leasehold's lock for readers, which share a lock. */
    LEASEHOLD_READ("leasehold read", true, true),
    /** Leasehold's permits, one of a name: as exclusive as a lock. */
    LEASEHOLD_PERMIT("leasehold permit", true, true),
    /**
     * The reference: two EVALSHA over one Lettuce connection, nothing else; under contention it retries every
     * millisecond.
     */
    RAW("raw", false, false),
    /** Redisson's {@code RLock}. */
    REDISSON("redisson", false, true),
    /** Redisson's fair lock. */
    REDISSON_FAIR("redisson fair", false, true),
    /** Redisson's {@code RReadWriteLock}, as a reader. */
    REDISSON_READ("redisson read", false, true),
    /** The usual hand-made lock with Jedis: {@code SET NX PX}, compare-and-delete, a retry every millisecond. */
    JEDIS("jedis helper", false, false),
    /** Spring Integration's {@code RedisLockRegistry}, woken by messages. */
    SPRING("spring integration", false, false),
    /** ShedLock's provider for Redis; it does not wait, so it is retried every millisecond. */
    SHEDLOCK("shedlock", false, false),
    /** Curator's {@code InterProcessMutex}, over ZooKeeper. */
    CURATOR("curator", false, true);

    private final String label;
    private final boolean ours;
    private final boolean renewing;

    PeerKind(String label, boolean ours, boolean renewing) {
        this.label = label;
        this.ours = ours;
        this.renewing = renewing;
    }

    /** The name in tables. */
    public String label() {
        return label;
    }

    /** Whether it is Leasehold. */
    public boolean isOurs() {
        return ours;
    }

    /** Whether a held lock is renewed until it is released. */
    public boolean isRenewing() {
        return renewing;
    }

    /** Opens Leasehold over any store, by its URI. */
    public static Peer open(String uri, Duration ttl, Fairness fairness) {
        return new LeaseholdPeer(uri, ttl, fairness);
    }

    /** Connects; every peer gets the same ttl, and renews every third of it if it renews. */
    public Peer open(String uri, Duration ttl) {
        return switch (this) {
            case LEASEHOLD -> new LeaseholdPeer(uri, ttl, Fairness.BOUNDED_LOCAL_HAND_OVER);
            case LEASEHOLD_STRICT -> new LeaseholdPeer(uri, ttl, Fairness.STRICT_FIFO);
            case LEASEHOLD_READ -> new LeaseholdPeer(uri, ttl, LeaseholdPeer.READER);
            case LEASEHOLD_PERMIT -> new LeaseholdPeer(uri, ttl, LeaseholdPeer.ONE_PERMIT);
            case RAW -> new RawPeer(uri, ttl);
            case REDISSON -> new RedissonPeer(uri, ttl, RedissonPeer.LOCK);
            case REDISSON_FAIR -> new RedissonPeer(uri, ttl, RedissonPeer.FAIR);
            case REDISSON_READ -> new RedissonPeer(uri, ttl, RedissonPeer.READER);
            case JEDIS -> new JedisPeer(uri, ttl);
            case SPRING -> new SpringPeer(uri, ttl);
            case SHEDLOCK -> new ShedLockPeer(uri, ttl);
            case CURATOR -> new CuratorPeer(uri, ttl);
        };
    }

    /**
     * Connects to independent servers that form a quorum.
     *
     * @param uri names all of them, for Leasehold
     * @throws IllegalArgumentException for a peer that does not support quorums
     */
    public Peer openOver(List<String> servers, String uri, Duration ttl) {
        return switch (this) {
            case LEASEHOLD -> new LeaseholdPeer(uri, ttl, Fairness.BOUNDED_LOCAL_HAND_OVER);
            case RAW -> new RawQuorumPeer(servers, ttl);
            case REDISSON -> new RedissonRedlockPeer(servers, ttl);
            default -> throw new IllegalArgumentException(label + " knows no quorum");
        };
    }
}
