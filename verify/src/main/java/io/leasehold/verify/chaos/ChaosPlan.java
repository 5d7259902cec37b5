package io.leasehold.verify.chaos;

import io.leasehold.verify.client.ControlKind;
import io.leasehold.verify.client.StoreAccess;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The run that is to be made.
 *
 * @param store against which store
 * @param duration for how long
 * @param seed which faults come when
 * @param clients how many client JVMs
 * @param locks how many locks
 * @param ttl of the leases
 * @param control the broken lock that runs, or null for ours
 * @param updates of the resource under each hold
 * @param faults what is harmed
 * @param keep where histories stay, or null if they are deleted
 */
record ChaosPlan(
        StoreKind store,
        Duration duration,
        long seed,
        int clients,
        int locks,
        Duration ttl,
        @Nullable ControlKind control,
        int updates,
        Set<FaultGroup> faults,
        @Nullable Path keep) {

    /** How many names there are for each lock that many want, so that most lie idle most of the time. */
    private static final int COOL_NAMES = 5;

    /** How many locks lie idle in between. */
    int coolLocks() {
        return control == null && store.usesManyNames() ? locks * COOL_NAMES : 0;
    }

    /** How a client comes to the store. */
    StoreAccess access(String uri, int pool) {
        return control == null && store.keepsHouse()
                ? new StoreAccess(uri, StoreKind.RETENTION, pool)
                : StoreAccess.of(uri);
    }
}
