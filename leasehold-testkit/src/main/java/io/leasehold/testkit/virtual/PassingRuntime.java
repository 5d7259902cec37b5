package io.leasehold.testkit.virtual;

import io.leasehold.spi.LockRuntime;
import java.util.concurrent.CompletableFuture;

/** Delegates everything to another runtime; a subclass observes or changes one thing. Thread-safe if the runtime is. */
public abstract class PassingRuntime implements LockRuntime {

    private final LockRuntime runtime;

    /** Creates a delegate of this runtime, which is closed with it. */
    public PassingRuntime(LockRuntime runtime) {
        this.runtime = runtime;
    }

    @Override
    public long nanoTime() {
        return runtime.nanoTime();
    }

    @Override
    public long wallMillis() {
        return runtime.wallMillis();
    }

    @Override
    public Timer schedule(long delayNanos, Runnable task) {
        return runtime.schedule(delayNanos, task);
    }

    @Override
    public void execute(Runnable task) {
        runtime.execute(task);
    }

    @Override
    public void executeWork(Runnable task) {
        runtime.executeWork(task);
    }

    @Override
    public Timer onExit(Runnable task) {
        return runtime.onExit(task);
    }

    @Override
    public void startThread(String name, Runnable task) {
        runtime.startThread(name, task);
    }

    @Override
    public void randomBytes(byte[] bytes) {
        runtime.randomBytes(bytes);
    }

    @Override
    public long randomBelow(long bound) {
        return runtime.randomBelow(bound);
    }

    @Override
    public void await(CompletableFuture<?> future) throws InterruptedException {
        runtime.await(future);
    }

    @Override
    public void close() {
        runtime.close();
    }
}
