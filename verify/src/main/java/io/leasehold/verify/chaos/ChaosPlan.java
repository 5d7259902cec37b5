package io.leasehold.verify.chaos;

import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What is to be run.
 *
 * @param store against which store
 * @param duration for how long
 * @param seed which faults come when
 * @param clients how many client JVMs
 * @param locks how many locks
 * @param ttl of the leases
 * @param control whether the broken lock runs
 * @param keep where histories stay, or null if they are deleted
 */
record ChaosPlan(
        StoreKind store,
        Duration duration,
        long seed,
        int clients,
        int locks,
        Duration ttl,
        boolean control,
        @Nullable Path keep) {}
