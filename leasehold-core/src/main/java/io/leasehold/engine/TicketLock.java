package io.leasehold.engine;

import io.leasehold.Lease;
import io.leasehold.LeaseTicket;
import java.util.Objects;

/** The lock of a ticket: each acquiring method begins one {@link ResumeAttempt}. */
final class TicketLock extends AbstractLock<Lease> {

    private final LeaseTicket ticket;

    TicketLock(LeaseTicket ticket, WaitSettings settings, Attempts attempts) {
        super(settings, attempts);
        this.ticket = Objects.requireNonNull(ticket, "ticket");
    }

    @Override
    String what() {
        return "the ticket of lock \"" + ticket.lockName() + "\"";
    }

    @Override
    PendingAttempt<Lease> enter(long maxWaitNanos) {
        return attempts.resume(ticket, settings, maxWaitNanos);
    }

    /** Does nothing: an attempt to resume does not wait for a holder. */
    @Override
    void refuseSelfWait() {}
}
