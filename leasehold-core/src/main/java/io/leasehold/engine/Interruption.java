package io.leasehold.engine;

import java.util.ArrayList;
import java.util.List;

/**
 * The interruption of one thread at the loss of any of its leases. The first loss interrupts the thread, once. After
 * the request was cancelled, no loss does.
 *
 * <p>{@code this} guards the fields. Only the interrupt itself is called inside the guard, so that none is pending once
 * the thread has cancelled it.
 */
final class Interruption {

    private final Thread thread = Thread.currentThread();
    private boolean over;
    private boolean delivered;

    /** Interrupts the thread unless an earlier loss did; returns false if the request was cancelled before. */
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

    /**
     * Returns the requests with this one, which replaces an earlier one of the same thread. Drops those of threads that
     * have ended.
     */
    List<Interruption> addedTo(List<Interruption> requests) {
        List<Interruption> all = new ArrayList<>();
        for (Interruption other : requests) {
            if (other.thread != thread && other.thread.isAlive()) {
                all.add(other);
            }
        }
        all.add(this);
        return all;
    }
}
