package io.leasehold.simulator;

import io.leasehold.Hold;
import io.leasehold.testkit.virtual.PausePlan.YieldPoint;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import java.time.Duration;

/** The pauses of one process, and sleeps of its machine; and what its holders believe in spite of them. */
final class Pauses {

    /** A shorter suspension cannot be distinguished from a slewed clock. */
    static final long UNNOTICED_SLEEP_NANOS = 120_000_000L;

    private final Cluster cluster;
    private final RunLog log;
    private final VirtualRuntime process;
    private final VirtualWorld world;
    private final Standstills standstills;
    /** The sum of sleeps that are too short to be detected. */
    private long unnoticedNanos;

    Pauses(Cluster cluster, RunLog log, VirtualRuntime process) {
        this.cluster = cluster;
        this.log = log;
        this.process = process;
        this.world = process.world();
        this.standstills = new Standstills(process);
    }

    Standstills standstills() {
        return standstills;
    }

    /** Pauses for this time. */
    void freeze(Duration span) {
        standstills.begin();
        cluster.disturbedFor(span);
        process.freeze(span);
    }

    /** Lets its machine sleep for this time. */
    void sleep(Duration span) {
        standstills.begin();
        cluster.disturbedFor(span);
        if (span.toNanos() < UNNOTICED_SLEEP_NANOS) {
            unnoticedNanos += span.toNanos();
        }
        process.suspend(span);
    }

    /** A pause at a yield point: the process pauses, or its machine sleeps. */
    long pauseNanos(YieldPoint point) {
        long pauseNanos = cluster.pauseNanos(point);
        if (pauseNanos == 0) {
            return 0;
        }
        standstills.begin();
        if (cluster.mayPauseAsleep() && world.chance(0.4)) {
            log.saw(Fault.CLIENT_SUSPEND);
            sleep(Duration.ofNanos(pauseNanos));
            // The next step runs after the sleep; a request that is about to be sent leaves before.
            return point == YieldPoint.BEFORE_SEND ? 0 : 1;
        }
        return pauseNanos;
    }

    /**
     * The end, in the world's time, of the holder's belief in the lease if it checks only its clock. A longer belief
     * because its machine slept too briefly to be detected is not a violation. A sleep that begins at this moment is
     * detected when it ends, and the belief is checked then.
     */
    long believedUntil(Hold hold) {
        return believedUntil(hold.remainingValidity().toNanos());
    }

    long believedUntil(long leftNanos) {
        long now = world.elapsedNanos();
        long asleepNanos = process.asleepForNanos();
        long lostNanos = unnoticedNanos + (asleepNanos < UNNOTICED_SLEEP_NANOS ? 0 : asleepNanos);
        return leftNanos == 0 ? now : Math.max(now, process.worldNanosAfter(leftNanos) - lostNanos);
    }
}
