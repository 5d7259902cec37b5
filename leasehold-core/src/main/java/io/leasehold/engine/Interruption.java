package io.leasehold.engine;

/**
 * One thread that asked to be interrupted when what it holds is lost, by however many leases: it is interrupted once, by the
 * first that is lost, and never after it was called off.
 *
 * <p>Guarded by {@code this}; nothing is called inside but the interrupt itself, so that none is on its way when the thread
 * has called it off.
 */
final class Interruption {

    private final Thread thread = Thread.currentThread();
    private boolean over;
    private boolean delivered;

    /** Whether the thread has been told, now or by an earlier loss; false if it was called off before. */
    synchronized boolean deliver() {
        if (!over) {
            over = true;
            delivered = true;
            thread.interrupt();
        }
        return delivered;
    }

    synchronized void callOff() {
        over = true;
    }
}
