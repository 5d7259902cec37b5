package io.leasehold.spi.method;

import io.leasehold.Hold;
import org.jspecify.annotations.Nullable;

/**
 * Interrupts the thread of a body when its lease is lost, and takes back an interrupt that the body has not used: the exception that
 * tells the loss takes its place. An interrupt that the thread had before the loss stays: it came from another. One that came for a body and, by a
 * loss of its own, for a body around it, comes again for that.
 *
 * <p>Guarded by {@code this}; no interrupt is on its way once the thread has called it off.
 */
public final class LossInterrupt {

    private static final ThreadLocal<@Nullable LossInterrupt> INNERMOST = new ThreadLocal<>();

    private final Thread thread = Thread.currentThread();
    private final @Nullable LossInterrupt around = INNERMOST.get();
    private boolean over;
    private boolean delivered;

    /** The loss came while the thread was interrupted already. */
    private boolean hidden;

    private LossInterrupt() {}

    /** For the calling thread. */
    public static LossInterrupt armed(Hold hold) {
        LossInterrupt interrupt = new LossInterrupt();
        hold.onLost(cause -> interrupt.deliver());
        INNERMOST.set(interrupt);
        return interrupt;
    }

    private synchronized void deliver() {
        if (over) {
            return;
        }
        if (thread.isInterrupted()) {
            hidden = true;
        } else {
            delivered = true;
            thread.interrupt();
        }
    }

    /** By the thread itself, in reverse order. */
    public void callOff() {
        if (around == null) {
            INNERMOST.remove();
        } else {
            INNERMOST.set(around);
        }
        if (takenBack()) {
            for (LossInterrupt outer = around; outer != null; outer = outer.around) {
                outer.deliverHidden();
            }
        }
    }

    private synchronized boolean takenBack() {
        over = true;
        if (delivered) {
            Thread.interrupted();
        }
        return delivered;
    }

    private synchronized void deliverHidden() {
        if (hidden) {
            hidden = false;
            deliver();
        }
    }
}
