package io.leasehold.jdbc.lease;

import io.leasehold.Holder;
import io.leasehold.jdbc.lease.LeaseRow.Held;
import io.leasehold.jdbc.lease.LeaseRow.Waiter;
import io.leasehold.jdbc.lease.LeaseRules.Decision;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The verbs of readers as changes of the row of the lock and of its readers, inside one transaction. Pure.
 *
 * <p>While readers hold, the row has an owner that equals no client's owner token, and ends when the last of them does.
 * So writers exclude readers and are excluded by them without a look at the readers.
 *
 * <p><b>Fencing.</b> The tokens of a reader are drawn as those of a writer, under the lock of the row: they exceed every
 * token before them.
 *
 * <p><b>Turns.</b> A writer that waits while readers hold leaves a note with an end. Until then, further readers wait.
 * Readers do not wait behind readers. One that waits behind a writer is noted too, so that it comes before a later writer.
 */
public final class ReadRules {

    /**
     * How long a note counts that was left before readers held: that of a writer keeps further readers out, and that of a
     * reader keeps a writer from leaving one. The longest pause of a waiter that polls.
     */
    public static final Duration OLDER_NOTE = Duration.ofSeconds(1);

    private ReadRules() {}

    /**
     * A reader is granted.
     *
     * @param tokens its fencing tokens
     * @param row the row to be stored
     * @param readers all readers, to be stored
     */
    public record Shared(TokenRange tokens, LeaseRow row, ReaderSet readers) implements Decision {}

    /**
     * The row and the readers after a change.
     *
     * @param readers all readers that are left
     */
    public record Change(LeaseRow row, ReaderSet readers) {}

    /**
     * How a process takes part.
     *
     * @param life the life to which its holds are bound, or null
     * @param claim the time for which a free lock is kept for a writer from readers
     */
    public record Terms(@Nullable String life, Duration claim) {}

    /** Decides on a request for the lock of this row as a reader. Both row and readers must be current. */
    public static Decision acquire(
            LeaseRow row, ReaderSet readers, AcquireRequest request, Terms terms, StoreTime now) {
        OwnerToken owner = request.owner();
        Held held = row.held();
        if (readers.has(owner)) {
            return share(row, readers, request, terms, now);
        } else if (held != null && !held.isReaders()) {
            boolean noted = request.isWaiting() && row.waiter() == null;
            LeaseRow note = row.with(held, new Waiter(owner, now.nanos(), true), row.fence());
            return new LeaseRules.Wait(row.holder(now), noted ? List.of(note) : List.of(), held.expiresAtNanos());
        } else if (isKeptForWriter(row, owner, now, terms.claim())) {
            return new LeaseRules.Wait(row.holder(now), List.of(), keptUntilNanos(row, terms.claim()));
        }
        return share(row, readers, request, terms, now);
    }

    /** Whether a lock without a writer is kept for one that waits. */
    private static boolean isKeptForWriter(LeaseRow row, OwnerToken owner, StoreTime now, Duration claim) {
        Waiter waiter = row.waiter();
        if (waiter == null || waiter.reads() || waiter.owner().equals(owner)) {
            return false;
        }
        boolean isDue = row.isRead() || now.nanos() - waiter.sinceNanos() >= LeaseRules.PATIENCE.toNanos();
        return isDue && keptUntilNanos(row, claim) - now.nanos() > 0;
    }

    private static long keptUntilNanos(LeaseRow row, Duration claim) {
        return row.isRead() ? row.freedAtNanos() : row.freedAtNanos() + claim.toNanos();
    }

    private static Decision share(LeaseRow row, ReaderSet readers, AcquireRequest request, Terms terms, StoreTime now) {
        long first = LeaseRules.firstToken(row.fence(), request, now);
        if (first >= TokenRange.LIMIT - request.reserve()) {
            return new LeaseRules.Exhausted(first);
        }
        TokenRange tokens = TokenRange.of(first, request.reserve());
        Held hold = new Held(
                request.owner(),
                request.holderId(),
                now.nanos() + request.ttlNanos(),
                request.ttlNanos(),
                first,
                terms.life());
        Held before = readers.of(request.owner());
        if (before != null && before.expiresAtNanos() - hold.expiresAtNanos() > 0) {
            hold = hold.expiringAt(before.expiresAtNanos(), before.ttlNanos());
        }
        ReaderSet all = readers.with(hold);
        Waiter left = LeaseRules.waiterAfterGrant(row, request.owner(), now);
        LeaseRow shared = row.with(all.together(), left, tokens.last());
        return new Shared(
                tokens,
                row.isRead() ? shared : shared.notedUntil(now.nanos() + (left == null ? 0 : OLDER_NOTE.toNanos())),
                all);
    }

    /** Decides on a request of a writer to become a reader. */
    public static Decision downgrade(
            LeaseRow row, ReaderSet readers, AcquireRequest request, OwnerToken writer, Terms terms, StoreTime now) {
        return row.isHeldBy(writer) || readers.has(request.owner())
                ? share(row, readers, request, terms, now)
                : new LeaseRules.Wait(row.holder(now), List.of(), Long.MAX_VALUE);
    }

    /**
     * The row, held by readers, with a note of this waiting writer, which ends by itself if the writer does not ask again.
     * Empty if it does not wait, or the note of another waiter has not ended.
     */
    static Optional<LeaseRow> noteWriter(LeaseRow row, AcquireRequest request, StoreTime now) {
        Waiter before = row.waiter();
        boolean isOwn = row.isAwaitedBy(request.owner());
        boolean isOther = before != null && !isOwn && row.freedAtNanos() - now.nanos() > 0;
        if (!request.isWaiting() || isOther) {
            return Optional.empty();
        }
        Waiter writer = before != null && isOwn ? before : new Waiter(request.owner(), now.nanos());
        long silenceNanos = 2 * request.recheckNanos() + Duration.ofSeconds(1).toNanos();
        return Optional.of(row.with(row.held(), writer, row.fence()).notedUntil(now.nanos() + silenceNanos));
    }

    /** The change if this reader's end is moved to one ttl from now, never back; null if it is no reader. */
    public static @Nullable Change renew(
            LeaseRow row, ReaderSet readers, OwnerToken owner, long ttlNanos, StoreTime now) {
        Held own = readers.of(owner);
        if (own == null) {
            return null;
        }
        long untilNanos = now.nanos() + ttlNanos;
        if (untilNanos - own.expiresAtNanos() <= 0) {
            return new Change(row, readers);
        }
        ReaderSet renewed = readers.with(own.expiringAt(untilNanos, ttlNanos));
        return new Change(renewed.in(row, now), renewed);
    }

    /** The change at the end of this owner token: its fence is raised to the ballot as far as allowed. */
    public static Change release(LeaseRow row, ReaderSet readers, OwnerToken owner, long ballot, StoreTime now) {
        LeaseRow raised = LeaseRules.raised(row, owner, ballot, now);
        if (!readers.has(owner)) {
            return new Change(raised, readers);
        }
        ReaderSet left = readers.without(reader -> reader.owner().equals(owner));
        return new Change(left.in(raised, now), left);
    }

    /**
     * The change that removes the readers with this holder id, or all if it is null or stands for all; null if there are
     * none.
     */
    public static @Nullable Change forceRelease(
            LeaseRow row, ReaderSet readers, @Nullable String holderId, StoreTime now) {
        Predicate<Held> meant = holderId == null || holderId.equals(Holder.READERS)
                ? reader -> true
                : reader -> reader.holderId().equals(holderId);
        ReaderSet left = readers.without(meant);
        if (left.equals(readers)) {
            return null;
        }
        LeaseRow raised = row.with(row.held(), row.waiter(), LeaseRules.fenceAfterForce(row, now));
        return new Change(left.in(raised, now), left);
    }

    /** Whether a waiting reader should request this lock again. */
    public static boolean isWorthAsking(@Nullable LeaseRow row, OwnerToken owner, StoreTime now) {
        if (row == null) {
            return true;
        }
        return (row.held() == null || row.isRead())
                ? !isKeptForWriter(row, owner, now, LeaseRules.CLAIM)
                : row.waiter() == null;
    }
}
