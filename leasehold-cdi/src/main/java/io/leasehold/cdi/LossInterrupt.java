package io.leasehold.cdi;

import io.leasehold.Hold;
import org.jspecify.annotations.Nullable;

/**
 * Interrupts the thread of a body when its lease is lost, and takes back an interrupt that the body has not used: the exception that
 * tells the loss takes its place. An interrupt that the thread had before the loss stays: it came from another.
 *
 * <p>Where bodies are nested, the inner one takes back one interrupt that may have meant both: it is given again to a body around it
 * whose lease was lost, too.
 *
 * <p>Guarded by {@code this}; no interrupt is on its way once the thread has called it off.
 */
final class LossInterrupt {

    private static final ThreadLocal<@Nullable LossInterrupt> CURRENT = new ThreadLocal<>();

    private final Thread thread = Thread.currentThread();
    private final @Nullable LossInterrupt outer = CURRENT.get();
    private boolean over;
    private boolean lost;
    private boolean delivered;

    /** For the calling thread. */
    static LossInterrupt armed(Hold hold) {
        LossInterrupt interrupt = new LossInterrupt();
        CURRENT.set(interrupt);
        hold.onLost(cause -> interrupt.deliver());
        return interrupt;
    }

    private synchronized void deliver() {
        lost = true;
        if (!over && !thread.isInterrupted()) {
            delivered = true;
            thread.interrupt();
        }
    }

    /** By the thread itself. */
    void callOff() {
        if (outer == null) {
            CURRENT.remove();
        } else {
            CURRENT.set(outer);
        }
        if (takenBack()) {
            for (LossInterrupt around = outer; around != null; around = around.outer) {
                around.deliverAgain();
            }
        }
    }

    private synchronized boolean takenBack() {
        over = true;
        return delivered && Thread.interrupted();
    }

    private synchronized void deliverAgain() {
        if (lost) {
            deliver();
        }
    }
}
