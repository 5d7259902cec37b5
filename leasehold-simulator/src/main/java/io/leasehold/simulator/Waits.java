package io.leasehold.simulator;

import io.leasehold.LockName;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;

/**
 * How long a lock that nobody has stays without one although somebody waits for it. Under faults that may be long; once all is
 * calm it has a bound.
 */
final class Waits {

    /**
     * What may have to pass, one after the other: a hold that was left behind lapses (ttl, lock delay and drift), the lock is handed to
     * a waiter that is gone (a claim, no longer than the former), and the next looks again (recheck and a fifth; an answer, which
     * may come at the second request).
     */
    static final Duration BOUND = SimulatedClient.TTL
            .plus(SimulatedClient.LOCK_DELAY)
            .plusMillis(22)
            .multipliedBy(2)
            .plus(SimulatedClient.RECHECK.multipliedBy(12).dividedBy(10))
            .plus(SimulatedClient.ANSWER.multipliedBy(2));

    private final Simulation simulation;
    /** Since when each lock is wanted and nobody has it. */
    private final Map<LockName, Long> idleSinceNanos = new TreeMap<>();

    Waits(Simulation simulation) {
        this.simulation = simulation;
    }

    /** Somebody begins or ends to want this lock, or gets it, or gives it back. */
    void changed(LockName name) {
        boolean wanted = false;
        boolean taken = false;
        for (SimulatedClient client : simulation.clients) {
            wanted |= client.wants(name);
            taken |= client.store.has(name);
        }
        if (wanted && !taken) {
            idleSinceNanos.putIfAbsent(name, simulation.world.elapsedNanos());
        } else {
            Long since = idleSinceNanos.remove(name);
            if (since != null) {
                judge(name, since);
            }
        }
    }

    /** Nobody is waited for any more, or all should have been served. */
    void judgeAll() {
        idleSinceNanos.forEach(this::judge);
    }

    private void judge(LockName name, long sinceNanos) {
        long fromNanos = Math.max(sinceNanos, simulation.calmFromNanos());
        long idleNanos = simulation.world.elapsedNanos() - fromNanos;
        if (idleNanos > BOUND.toNanos() && simulation.promisesProgress()) {
            simulation.problem("waiting: " + name + " was free and wanted for " + Duration.ofNanos(idleNanos)
                    + " although all was calm; at most " + BOUND + ", until "
                    + simulation.world.elapsed());
        }
    }
}
