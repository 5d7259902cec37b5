package io.leasehold.spi;

import java.util.concurrent.CompletableFuture;

/**
 * The environment of a lock client: time, timers, threads, randomness and waiting.
 *
 * <p>All code in core and in the stores uses it, so that the production code also runs in a simulated environment that
 * is determined by one seed. Core implements it for the system, the testkit for simulation.
 */
public interface LockRuntime {

    /** The monotonic time; compare values by difference only. */
    long nanoTime();

    /** The wall clock, in milliseconds since 1970: for display and for detecting jumps, never for durations. */
    long wallMillis();

    /**
     * Runs a task once, after a delay, on the timer thread: the task must be short and must not block.
     *
     * @param delayNanos the delay from now; zero or a negative delay runs the task at once
     */
    Timer schedule(long delayNanos, Runnable task);

    /**
     * Runs a task on a callback thread, which delivers events to user code: a loss, the result of a future. The task
     * never waits for another task, even if that one blocks.
     */
    void execute(Runnable task);

    /** Runs user work, which may take any time; no other task waits for it. */
    default void executeWork(Runnable task) {
        execute(task);
    }

    /**
     * Runs a task at an orderly exit of the process, which waits for it. An environment without an exit never runs it.
     *
     * @return a handle that cancels the task
     */
    default Timer onExit(Runnable task) {
        return () -> {};
    }

    /**
     * Runs a task on a dedicated daemon thread until it returns, for stores whose driver blocks. The task must wait for
     * other threads only by {@link #await}, and must not hold a lock while it waits, so that it can run in simulation.
     *
     * @param name the name of the thread, as thread dumps show it
     */
    default void startThread(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
    }

    /** Fills the array with unpredictable bytes. */
    void randomBytes(byte[] bytes);

    /** A uniformly distributed number from zero (included) to {@code bound} (excluded), which is positive. */
    long randomBelow(long bound);

    /**
     * Waits until the future is done: parks the thread, or runs the simulation until then.
     *
     * @throws InterruptedException if the thread is interrupted before the future is done
     */
    void await(CompletableFuture<?> future) throws InterruptedException;

    /** As {@link #await}, for a future that completes within a bounded time: an interrupt is kept until then. */
    default void awaitUninterruptibly(CompletableFuture<?> future) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    await(future);
                    return;
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Ends the timer and the threads, each after its current task; the runtime must not be used afterwards. */
    void close();

    /** A scheduled task. */
    interface Timer {
        /** Cancels the task; no effect if it runs or has run. */
        void cancel();
    }
}
