package io.leasehold;

import java.time.Duration;
import java.util.Objects;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The holder of a lock as the store reports it. Public: it never contains the owner token.
 *
 * @param id the readable holder id (host, pid, client, label), or the description of a foreign one or of a ticket
 * @param remainingTtl the time for which the store still keeps the lock, or null if it has no end or the time is
 *     unknown
 * @param fencingToken the token of the hold, if the store knows it
 * @param ends the event that ends the hold if it is not released
 */
public record Holder(String id, @Nullable Duration remainingTtl, OptionalLong fencingToken, Ends ends) {

    /** The id that stands for all readers of a lock; {@link io.leasehold.admin.LockAdmin#readers} lists them. */
    public static final String READERS = "readers";

    private static final String TICKET_OF = "ticket of ";

    /** The event that ends a hold that is not released. The list may grow. */
    public enum Ends {
        /** Its ttl, even if the store did not report how much of it is left. */
        BY_TTL,
        /** The end of its holder's session with the store, which lasts while the holder sends signs of life. */
        WITH_SESSION,
        /** None: the hold stays until it is removed. */
        NEVER
    }

    /** Refuses null where it has no meaning. */
    public Holder {
        Objects.requireNonNull(id, "id");
        Objects.requireNonNull(fencingToken, "fencingToken");
        Objects.requireNonNull(ends, "ends");
    }

    /** The id of a lock that is kept for a ticket, from the id of the holder that exported its lease. */
    public static String ticketOf(String holderId) {
        return holderId.startsWith(TICKET_OF) ? holderId : TICKET_OF + holderId;
    }

    /** Whether the lock is kept for a ticket: its lease was {@linkplain Lease#export exported} and not resumed yet. */
    public boolean isTicket() {
        return id.startsWith(TICKET_OF);
    }

    /**
     * Whether readers hold the lock. Then the time that is left is that of the last of them, and the token is the largest of
     * theirs.
     */
    public boolean isReaders() {
        return id.equals(READERS);
    }

    /** A hold that ends by its ttl, or never if there is none. */
    public Holder(String id, @Nullable Duration remainingTtl, OptionalLong fencingToken) {
        this(id, remainingTtl, fencingToken, remainingTtl == null ? Ends.NEVER : Ends.BY_TTL);
    }
}
