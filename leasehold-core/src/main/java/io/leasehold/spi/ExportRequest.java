package io.leasehold.spi;

import io.leasehold.LockName;
import java.util.Objects;

/**
 * A request to end an owner token that holds a lock, and to keep the lock for a ticket: in one step, the ticket's owner
 * token replaces the holder's. Idempotent; once it is sent, only copies of it, and then a release, are ever sent with
 * the holder's owner token.
 *
 * @param name the lock
 * @param owner the owner token of the holder
 * @param ballot the highest fencing token proposed or granted under it; the store raises its fence to this number, even
 *     if the owner token does not hold the lock
 * @param ticket the owner token of the ticket
 * @param token the fencing token of the exported lease, for operators
 * @param holderId the label of the ticket, for operators
 * @param claimNanos how long the store keeps the lock for the ticket; may be shorter than what was left of the hold. Zero: as
 *     long as it would have kept the hold. Only a set asks its nodes so, to return a vote to the ticket
 * @param timeoutNanos the time limit after which the store must complete its reply
 */
public record ExportRequest(
        LockName name,
        OwnerToken owner,
        long ballot,
        OwnerToken ticket,
        long token,
        String holderId,
        long claimNanos,
        long timeoutNanos) {

    /** Refuses nulls. */
    public ExportRequest {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(owner, "owner");
        Objects.requireNonNull(ticket, "ticket");
        Objects.requireNonNull(holderId, "holderId");
    }
}
