package io.leasehold;

import org.jspecify.annotations.Nullable;

/**
 * Thrown if the store does not keep the lock for this ticket: it was used before, its claim is over, an operator has
 * released the lock by force, or the ticket is of another store or of a client with other keys. The store cannot
 * distinguish these cases. No retry helps; acquire the lock like any other client.
 */
public final class TicketRefusedException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final LockName lockName;
    private final transient @Nullable Holder holder;

    /**
     * The lock is not kept for the ticket.
     *
     * @param ticket the ticket, whose secret does not become part of the message
     * @param store the description of the store that has refused it
     * @param holder the present holder, or null if the lock is free or the holder is unknown
     */
    public TicketRefusedException(LeaseTicket ticket, String store, @Nullable Holder holder) {
        super("lock \"" + ticket.lockName() + "\" at " + store + " is not kept for this ticket"
                + (holder == null ? "" : "; its holder is " + holder.id())
                + ". The ticket was used before, its claim of " + Durations.text(ticket.claim())
                + " is over, an operator released the"
                + " lock, or the ticket is of another store (it was exported at " + ticket.store()
                + "). Acquire the lock instead");
        this.lockName = ticket.lockName();
        this.holder = holder;
    }

    /** The lock. */
    public LockName lockName() {
        return lockName;
    }

    /** Its present holder, or null if the lock is free or the holder is unknown. */
    public @Nullable Holder holder() {
        return holder;
    }
}
