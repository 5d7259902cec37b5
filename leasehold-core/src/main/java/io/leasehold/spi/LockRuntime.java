package io.leasehold.spi;

import java.util.concurrent.CompletableFuture;

/**
 * The seam between the lock and the world: time, timers, threads, randomness and waiting.
 *
 * <p>Everything in core and in the stores takes these from here, so that the real code runs in a virtual
 * world where one seed decides all. Real implementation: the system; virtual one: the testkit.
 */
public interface LockRuntime {

    /** Monotonic time; compare by difference only. */
    long nanoTime();

    /** The wall clock, in milliseconds since 1970: for people and for noticing jumps, never for durations. */
    long wallMillis();

    /**
     * Runs a task once, after a delay, on the timer thread: the task must be short and must not block.
     *
     * @param delayNanos from now; at once if not positive
     */
    Timer schedule(long delayNanos, Runnable task);

    /**
     * Runs a task on a thread for callbacks, where news reach user code: a loss, the result of a future. It never waits for
     * another task, however long that blocks.
     */
    void execute(Runnable task);

    /** Runs work of the user's, which may take as long as it likes; no other task waits for it. */
    default void executeWork(Runnable task) {
        execute(task);
    }

    /**
     * Runs a task when the process is about to exit in order; the exit waits for it. A world without an exit never does.
     *
     * @return takes it back
     */
    default Timer onExit(Runnable task) {
        return () -> {};
    }

    /**
     * Runs a task on a daemon thread of its own until it returns: what talks to a store by a driver that blocks. It waits for
     * other threads by {@link #await} alone, holds no lock while it waits, and so can live in a virtual world.
     *
     * @param name of the thread, as thread dumps show it
     */
    default void startThread(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
    }

    /** Fills the array with unpredictable bytes. */
    void randomBytes(byte[] bytes);

    /** An evenly drawn number from zero (included) to {@code bound} (excluded), which is positive. */
    long randomBelow(long bound);

    /**
     * Waits until the future is done: parks the thread, or runs the virtual world until then.
     *
     * @throws InterruptedException if the thread is interrupted before that
     */
    void await(CompletableFuture<?> future) throws InterruptedException;

    /** Ends the timer and the threads, each after what it has begun; the runtime is not used after. */
    void close();

    /** A scheduled task. */
    interface Timer {
        /** Takes it back; no effect if it runs or has run. */
        void cancel();
    }
}
