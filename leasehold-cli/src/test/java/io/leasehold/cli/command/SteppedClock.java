package io.leasehold.cli.command;

import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.spi.LockRuntime;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;

/** The real world, except for a wall clock that an administrator sets. */
final class SteppedClock implements LockRuntime {

    private final LockRuntime real = new SystemLockRuntime();
    private final AtomicLong offsetMillis = new AtomicLong();

    void step(Duration by) {
        offsetMillis.addAndGet(by.toMillis());
    }

    @Override
    public long wallMillis() {
        return real.wallMillis() + offsetMillis.get();
    }

    @Override
    public long nanoTime() {
        return real.nanoTime();
    }

    @Override
    public Timer schedule(long delayNanos, Runnable task) {
        return real.schedule(delayNanos, task);
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
