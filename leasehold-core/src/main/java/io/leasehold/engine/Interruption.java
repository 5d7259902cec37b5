package io.leasehold.engine;

/**
 * The interruption of one thread at the loss of any of its leases: it is interrupted once, by the first that is lost, and
 * never after the request was cancelled.
 *
 * <p>Guarded by {@code this}; nothing is called inside but the interrupt itself, so that none is pending when the thread has cancelled it.
 */
final class Interruption {

    private final Thread thread = Thread.currentThread();
    private boolean over;
    private boolean delivered;

    /** Interrupts the thread unless an earlier loss did; false if the request was cancelled before. */
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
