package io.leasehold.cli.command;

import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.spi.LockRuntime;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** The real world, except for a wall clock that an administrator sets, and for callbacks that may come late. */
final class SteppedClock implements LockRuntime {

    private static final long LATE_NANOS = TimeUnit.MILLISECONDS.toNanos(300);

    private final LockRuntime real = new SystemLockRuntime();
    private final AtomicLong offsetMillis = new AtomicLong();
    private volatile boolean callbacksAreLate;

    void step(Duration by) {
        offsetMillis.addAndGet(by.toMillis());
    }

    /** From now on, no callback comes at once. */
    void delayCallbacks() {
        callbacksAreLate = true;
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
        if (callbacksAreLate) {
            real.schedule(LATE_NANOS, () -> real.execute(task));
        } else {
            real.execute(task);
        }
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
