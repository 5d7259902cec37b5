package io.leasehold.verify.chaos;

import io.leasehold.simulator.LeaseKind;
import io.leasehold.verify.client.ControlKind;
import io.leasehold.verify.client.StoreAccess;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The parameters of a run.
 *
 * @param store the store under test
 * @param kind the kind of lease
 * @param duration the length of the run
 * @param seed determines the faults and their times
 * @param clients the number of client JVMs
 * @param locks the number of locks
 * @param ttl of the leases
 * @param control the broken lock to run, or null for Leasehold
 * @param updates the number of updates of the resource under each hold
 * @param faults the targets of faults
 * @param keep the directory in which histories stay, or null if they are deleted
 */
record ChaosPlan(
        StoreKind store,
        LeaseKind kind,
        Duration duration,
        long seed,
        int clients,
        int locks,
        Duration ttl,
        @Nullable ControlKind control,
        int updates,
        Set<FaultGroup> faults,
        @Nullable Path keep) {

    /** The number of idle names per contended lock, so that most names are idle most of the time. */
    private static final int COOL_NAMES = 5;

    /** This plan with another length. */
    ChaosPlan lasting(Duration other) {
        return new ChaosPlan(store, kind, other, seed, clients, locks, ttl, control, updates, faults, keep);
    }

    /** The number of locks that are idle in between. */
    int coolLocks() {
        boolean many = store.usesManyNames() || kind != LeaseKind.LOCKS;
        return control == null && many ? locks * COOL_NAMES : 0;
    }

    /** The way in which a client reaches the store. */
    StoreAccess access(String uri, int pool) {
        return control == null && store.keepsHouse()
                ? new StoreAccess(uri, StoreKind.RETENTION, pool)
                : StoreAccess.of(uri);
    }
}
