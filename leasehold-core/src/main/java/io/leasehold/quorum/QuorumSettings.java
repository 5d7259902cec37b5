package io.leasehold.quorum;

import io.leasehold.LockOptions;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The settings on which all clients of a set of nodes agree, and this client's node timeout. Pure: an immutable
 * value. Start with {@link #standard()}, and change a setting with the method of its name.
 */
public final class QuorumSettings {

    private static final QuorumSettings STANDARD = new QuorumSettings(Duration.ofSeconds(30), null);
    private static final Duration MIN_NODE_TIMEOUT = Duration.ofMillis(5);
    private static final Duration MAX_NODE_TIMEOUT = Duration.ofMillis(50);

    /** The maximum of B, the bound by which fencing tokens may run ahead of the nodes' clocks. */
    private static final Duration MAX_BOUND = Duration.ofMillis(7_500);

    private final Duration maxTtl;
    private final @Nullable Duration nodeTimeout;

    private QuorumSettings(Duration maxTtl, @Nullable Duration nodeTimeout) {
        this.maxTtl = maxTtl;
        this.nodeTimeout = nodeTimeout;
    }

    /** The standard settings: the largest ttl is 30 s, the node timeout clamp(ttl/200, 5 ms, 50 ms). */
    public static QuorumSettings standard() {
        return STANDARD;
    }

    /**
     * Sets the largest ttl that any client of this set uses. A node that may have lost its state grants nothing for
     * that long.
     */
    public QuorumSettings maxTtl(Duration maxTtl) {
        return new QuorumSettings(Objects.requireNonNull(maxTtl, "maxTtl"), nodeTimeout);
    }

    /** Sets the time for which a round waits for a node that does not answer. */
    public QuorumSettings nodeTimeout(Duration nodeTimeout) {
        Duration timeout = Objects.requireNonNull(nodeTimeout, "nodeTimeout");
        return new QuorumSettings(maxTtl, timeout);
    }

    /** The largest ttl. */
    public Duration maxTtl() {
        return maxTtl;
    }

    /** The time for which a round waits for a node that does not answer, for this ttl. */
    public Duration nodeTimeoutFor(Duration ttl) {
        return Duration.ofNanos(nodeTimeoutNanos(ttl.toNanos()));
    }

    long nodeTimeoutNanos(long ttlNanos) {
        if (nodeTimeout != null) {
            return nodeTimeout.toNanos();
        }
        return Math.max(MIN_NODE_TIMEOUT.toNanos(), Math.min(MAX_NODE_TIMEOUT.toNanos(), ttlNanos / 200));
    }

    /** The node timeout of a lock: its own if that is positive, else that of the set. */
    long nodeTimeoutNanos(long ttlNanos, long ownNanos) {
        return ownNanos > 0 ? ownNanos : nodeTimeoutNanos(ttlNanos);
    }

    /** The quarantine of a node that may have lost its state: maxTtl (1 + ρ) + 1 s. */
    long quarantineNanos() {
        return exclusionNanos() + 1_000_000_000L;
    }

    /** The minimum time for which a node with a wrong clock is excluded: maxTtl (1 + ρ). */
    long exclusionNanos() {
        return maxTtl.toNanos() + maxTtl.toNanos() / 100;
    }

    /** The bound B = maxTtl / 4, at most 7.5 s. */
    long boundMicros() {
        return Math.min(MAX_BOUND.toNanos(), maxTtl.toNanos() / 4) / 1_000;
    }

    static long driftNanos(long ttlNanos) {
        return LockOptions.driftOf(Duration.ofNanos(ttlNanos)).toNanos();
    }

    /** The validity: ttl − drift. */
    static long validityNanos(long ttlNanos) {
        return ttlNanos - driftNanos(ttlNanos);
    }
}
