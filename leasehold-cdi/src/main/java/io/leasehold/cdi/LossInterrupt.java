package io.leasehold.cdi;

import io.leasehold.Hold;

/**
 * Interrupts the thread of a body when its lease is lost, and takes back an interrupt that the body has not used: the exception that
 * tells the loss takes its place. An interrupt that the thread had before the loss stays: it came from another.
 *
 * <p>Guarded by {@code this}; no interrupt is on its way once the thread has called it off.
 */
final class LossInterrupt {

    private final Thread thread = Thread.currentThread();
    private boolean over;
    private boolean delivered;

    /** For the calling thread. */
    static LossInterrupt armed(Hold hold) {
        LossInterrupt interrupt = new LossInterrupt();
        hold.onLost(cause -> interrupt.deliver());
        return interrupt;
    }

    private synchronized void deliver() {
        if (!over && !thread.isInterrupted()) {
            delivered = true;
            thread.interrupt();
        }
    }

    /** By the thread itself. */
    synchronized void callOff() {
        over = true;
        if (delivered) {
            Thread.interrupted();
        }
    }
}
