package io.leasehold.benchmarks.peer;

import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;

/** How those wait that cannot be woken: they ask again, half a millisecond to one and a half later. */
final class Polling {

    private static final long MIN_NANOS = 500_000;
    private static final long MAX_NANOS = 1_500_000;

    private Polling() {}

    static void pause() throws InterruptedException {
        LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(MIN_NANOS, MAX_NANOS));
        if (Thread.interrupted()) {
            throw new InterruptedException("interrupted while waiting for a lock");
        }
    }
}
