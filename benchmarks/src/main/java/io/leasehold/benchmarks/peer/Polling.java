package io.leasehold.benchmarks.peer;

import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;

/** The wait of peers without wake-ups: they retry after half a millisecond to one and a half. */
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
