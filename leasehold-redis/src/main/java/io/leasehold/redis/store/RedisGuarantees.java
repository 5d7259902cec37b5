package io.leasehold.redis.store;

import io.leasehold.Guarantee;
import io.leasehold.Guarantees;
import io.leasehold.redis.topology.Deployment;

/** The guarantees of deployments; {@code docs/stores/} gives the reasons and the conditions. */
public final class RedisGuarantees {

    private RedisGuarantees() {}

    /**
     * The guarantees of a deployment.
     *
     * @param durable whether every acknowledged write is known to survive the crash of a server
     */
    public static Guarantees of(Deployment.Kind kind, boolean durable) {
        // A fail-over may lose acknowledged writes, however durable each server is.
        return single(durable && kind == Deployment.Kind.SINGLE);
    }

    /**
     * The guarantees of a single server.
     *
     * @param durable whether every acknowledged write is known to survive its crash
     */
    public static Guarantees single(boolean durable) {
        return new Guarantees(
                durable ? Guarantee.Exclusion.WITHIN_DRIFT : Guarantee.Exclusion.BEST_EFFORT,
                durable ? Guarantee.Fencing.INCREASING : Guarantee.Fencing.BEST_EFFORT,
                Guarantee.Queueing.FIFO,
                Guarantee.Scope.NETWORK);
    }
}
