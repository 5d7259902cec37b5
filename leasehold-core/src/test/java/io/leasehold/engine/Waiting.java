package io.leasehold.engine;

import java.util.concurrent.CountDownLatch;

/** A thread that has performed a step, and waits until it is interrupted. */
final class Waiting {

    private final CountDownLatch waits = new CountDownLatch(1);
    private final CountDownLatch over = new CountDownLatch(1);
    private final CountDownLatch done = new CountDownLatch(1);
    private volatile boolean interrupted;

    private Waiting() {}

    /** Starts a thread, and returns once it has performed the step. */
    static Waiting that(Runnable step) throws InterruptedException {
        Waiting waiting = new Waiting();
        Thread thread = new Thread(() -> waiting.run(step));
        thread.setDaemon(true);
        thread.start();
        waiting.waits.await();
        return waiting;
    }

    private void run(Runnable step) {
        step.run();
        waits.countDown();
        try {
            over.await();
            // An interrupt may have come before the end of the wait.
            interrupted = Thread.interrupted();
        } catch (InterruptedException e) {
            interrupted = true;
        }
        done.countDown();
    }

    /** Ends the wait; returns whether the thread was interrupted. */
    boolean isInterrupted() throws InterruptedException {
        over.countDown();
        done.await();
        return interrupted;
    }
}
