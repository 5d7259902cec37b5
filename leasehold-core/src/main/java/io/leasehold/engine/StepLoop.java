package io.leasehold.engine;

/**
 * Runs a step again and again, as often as it is requested while it runs. A loop, since a store may answer at once: a
 * thousand nested steps would exhaust the stack. The step throws nothing.
 */
final class StepLoop {

    private final Runnable step;
    private boolean running;
    private boolean again;

    StepLoop(Runnable step) {
        this.step = step;
    }

    /** Runs the step here, or on the thread that is running it, after that. */
    void run() {
        synchronized (this) {
            again = true;
            if (running) {
                return;
            }
            running = true;
        }
        while (continues()) {
            step.run();
        }
    }

    private synchronized boolean continues() {
        running = again;
        again = false;
        return running;
    }
}
