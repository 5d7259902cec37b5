package io.leasehold.redis.store;

import io.leasehold.Guarantee;
import io.leasehold.Guarantees;

/** What a single server promises; {@code docs/stores/redis.md} gives the reasons and the conditions. */
public final class RedisGuarantees {

    private RedisGuarantees() {}

    /**
     * Of a single server.
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
