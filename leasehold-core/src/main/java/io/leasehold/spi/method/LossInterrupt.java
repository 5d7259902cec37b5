package io.leasehold.spi.method;

import io.leasehold.Hold;
import org.jspecify.annotations.Nullable;

/**
 * Interrupts the thread of a body when its lease is lost. Afterwards it clears an interrupt that the body has not
 * consumed: the exception that reports the loss replaces it. An interrupt that the thread had before the loss stays,
 * since it has another cause. If the leases of a body and of a body around it are both lost, the outer body is
 * interrupted again.
 *
 * <p>Guarded by {@code this}; once {@link #callOff} has returned, no interrupt is pending.
 */
public final class LossInterrupt {

    private static final ThreadLocal<@Nullable LossInterrupt> INNERMOST = new ThreadLocal<>();

    private final Thread thread = Thread.currentThread();
    private final @Nullable LossInterrupt around = INNERMOST.get();
    private boolean over;
    private boolean delivered;

    /** Whether the thread was already interrupted when the loss was reported. */
    private boolean hidden;

    private LossInterrupt() {}

    /** Registers an interrupt of the calling thread. */
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

    /** Cancels the interrupt; called by the thread itself, in reverse order. */
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
