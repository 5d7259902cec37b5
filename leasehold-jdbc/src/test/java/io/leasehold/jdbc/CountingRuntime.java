package io.leasehold.jdbc;

import io.leasehold.spi.LockRuntime;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

/** A runtime that counts its timers. */
record CountingRuntime(LockRuntime real, AtomicInteger timers) implements LockRuntime {

    @Override
    public Timer schedule(long delayNanos, Runnable task) {
        timers.incrementAndGet();
        return real.schedule(delayNanos, task);
    }

    @Override
    public long nanoTime() {
        return real.nanoTime();
    }

    @Override
    public long wallMillis() {
        return real.wallMillis();
    }

    @Override
    public void execute(Runnable task) {
        real.execute(task);
    }

    @Override
    public void randomBytes(byte[] bytes) {
        real.randomBytes(bytes);
    }

    @Override
    public long randomBelow(long bound) {
        return real.randomBelow(bound);
    }

    @Override
    public void await(CompletableFuture<?> future) throws InterruptedException {
        real.await(future);
    }

    @Override
    public void close() {
        real.close();
    }
}
