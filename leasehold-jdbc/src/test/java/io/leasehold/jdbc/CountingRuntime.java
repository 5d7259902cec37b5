package io.leasehold.jdbc;

import io.leasehold.spi.LockRuntime;
import io.leasehold.testkit.virtual.PassingRuntime;
import java.util.concurrent.atomic.AtomicInteger;

/** A runtime that counts its timers. */
final class CountingRuntime extends PassingRuntime {

    private final AtomicInteger timers;

    CountingRuntime(LockRuntime real, AtomicInteger timers) {
        super(real);
        this.timers = timers;
    }

    @Override
    public Timer schedule(long delayNanos, Runnable task) {
        timers.incrementAndGet();
        return super.schedule(delayNanos, task);
    }
}
