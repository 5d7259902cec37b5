package io.leasehold.redis.topology;

import io.leasehold.spi.LockRuntime;

/** The delays between attempts to connect: 10 ms, doubling up to 0.64 s; of each, the upper half is random. */
final class Retry {

    private static final long FIRST_NANOS = 10_000_000L;
    private static final int MAX_DOUBLINGS = 6;

    private Retry() {}

    static long delayNanos(int failuresBefore, LockRuntime runtime) {
        long full = FIRST_NANOS << Math.min(failuresBefore, MAX_DOUBLINGS);
        return full / 2 + runtime.randomBelow(full / 2);
    }
}
