package io.leasehold.jdbc.lease;

import io.leasehold.Holder;
import io.leasehold.jdbc.lease.LeaseRow.Held;
import io.leasehold.jdbc.lease.LeaseRow.Waiter;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Acquire, renew, release and force-release as changes of rows, inside one transaction. Pure.
 *
 * <p><b>Fencing.</b> Tokens start at {@code max(fence + 1, seen token + 1, wall clock in µs)}; a grant raises the
 * fence to the end of its range, and nothing lowers it.
 *
 * <p><b>Turns.</b> A lock that is free goes to the first request, which is fast, until its noted waiter has waited for
 * {@link #PATIENCE}: from then on a lock that becomes free is kept for that waiter for up to {@link #CLAIM}. So a
 * process that acquires the lock repeatedly cannot starve another, and a dead waiter costs one claim time.
 */
public final class LeaseRules {

    /** The time for which other requests may overtake a waiter. */
    public static final Duration PATIENCE = Duration.ofMillis(20);

    /** The time for which a free lock is kept for its waiter. */
    public static final Duration CLAIM = Duration.ofMillis(50);

    /**
     * The bound by which a request whose token is not from this table may raise the fence beyond max(fence, wall
     * clock).
     */
    public static final Duration FENCE_LEAD = Duration.ofMillis(7500);

    private LeaseRules() {}

    /** The decision on a request to acquire. */
    public sealed interface Decision permits Grant, Wait, Exhausted, ReadRules.Shared {}

    /**
     * Granted.
     *
     * @param tokens the fencing tokens
     * @param rows to be stored
     */
    public record Grant(TokenRange tokens, List<LeaseRow> rows) implements Decision {}

    /**
     * The request is not granted.
     *
     * @param holder the holder of one of the locks, or null if they are free but kept for another waiter
     * @param rows to be stored, because the request is noted there as waiter; possibly none
     * @param lookAgainAtNanos the time at which the locks may become free without a change of a row
     */
    public record Wait(@Nullable Holder holder, List<LeaseRow> rows, long lookAgainAtNanos) implements Decision {}

    /**
     * No token is left below 2<sup>53</sup>.
     *
     * @param token the one that was next
     */
    public record Exhausted(long token) implements Decision {}

    /**
     * Returns the row without expired parts. Times of another origin belong to processes that are gone; a caller that
     * knows better {@linkplain LeaseRow#countedFrom converts} the row first. If a hold has more left than its whole
     * ttl, a clock ahead of this one wrote it; one ttl from now is then an end that is bounded and certainly not too
     * early.
     */
    public static LeaseRow asOf(LeaseRow row, StoreTime now) {
        if (!row.origin().equals(now.origin())) {
            return LeaseRow.absent(row.name(), now, row.fence());
        }
        LeaseRow current = row;
        Waiter waiter = row.waiter();
        if (waiter != null && waiter.sinceNanos() - now.nanos() > 0) {
            current = current.with(
                    current.held(), new Waiter(waiter.owner(), now.nanos(), waiter.reads()), current.fence());
            if (row.isRead()) {
                // The note of the waiting writer would keep readers out until the clock has caught up.
                current = current.notedUntil(now.nanos());
            }
        }
        Held held = row.held();
        if (held == null) {
            return row.freedAtNanos() - now.nanos() > 0 ? current.freedAt(now.nanos()) : current;
        }
        long leftNanos = held.expiresAtNanos() - now.nanos();
        if (leftNanos <= 0) {
            return current.freedAt(held.expiresAtNanos());
        }
        return leftNanos <= held.ttlNanos()
                ? current
                : current.with(
                        held.expiringAt(now.nanos() + held.ttlNanos(), held.ttlNanos()),
                        current.waiter(),
                        current.fence());
    }

    /**
     * Whether a hold of another origin may belong to this boot, for which its holder has another name: its end is in
     * the future by this clock, by no more than its ttl. That is very unlikely for a hold of an earlier boot.
     */
    public static boolean mayBeOfThisBoot(LeaseRow row, StoreTime now) {
        Held held = row.held();
        long leftNanos = held == null ? 0 : held.expiresAtNanos() - now.nanos();
        return held != null && leftNanos > 0 && leftNanos <= held.ttlNanos();
    }

    /**
     * Decides on a request for the locks of these rows, all or none.
     *
     * @param rows the current rows
     * @param noting whether a request that waits is noted in the row
     */
    public static Decision acquire(List<LeaseRow> rows, AcquireRequest request, StoreTime now, boolean noting) {
        OwnerToken owner = request.owner();
        List<LeaseRow> noted = new ArrayList<>();
        boolean blocked = false;
        Holder holder = null;
        long lookAgainAtNanos = Long.MAX_VALUE;
        for (LeaseRow row : rows) {
            Held held = row.held();
            if (held != null && !row.isHeldBy(owner)) {
                lookAgainAtNanos = Math.min(lookAgainAtNanos, held.expiresAtNanos());
                blocked = true;
                holder = holder == null ? row.holder(now) : holder;
                if (held.isReaders()) {
                    ReadRules.noteWriter(row, request, now).ifPresent(noted::add);
                } else if (noting && request.isWaiting() && row.waiter() == null) {
                    noted.add(row.with(held, new Waiter(owner, now.nanos()), row.fence()));
                }
            } else if (held == null && isKeptForAnother(row, owner, now)) {
                lookAgainAtNanos = Math.min(lookAgainAtNanos, row.freedAtNanos() + CLAIM.toNanos());
                blocked = true;
            }
        }
        return blocked ? new Wait(holder, noted, lookAgainAtNanos) : grant(rows, request, now);
    }

    /** Whether a free lock is kept for another waiter. */
    private static boolean isKeptForAnother(LeaseRow row, OwnerToken owner, StoreTime now) {
        Waiter waiter = row.waiter();
        return waiter != null
                && !waiter.owner().equals(owner)
                && now.nanos() - waiter.sinceNanos() >= PATIENCE.toNanos()
                && now.nanos() - row.freedAtNanos() < CLAIM.toNanos();
    }

    private static Decision grant(List<LeaseRow> rows, AcquireRequest request, StoreTime now) {
        long fence = 0;
        for (LeaseRow row : rows) {
            fence = Math.max(fence, row.fence());
        }
        long first = firstToken(fence, request, now);
        if (first >= TokenRange.LIMIT - request.reserve()) {
            return new Exhausted(first);
        }
        TokenRange tokens = TokenRange.of(first, request.reserve());
        List<LeaseRow> granted = new ArrayList<>(rows.size());
        for (LeaseRow row : rows) {
            Held held = new Held(
                    request.owner(),
                    request.holderId(),
                    now.nanos() + request.ttlNanos(),
                    request.ttlNanos(),
                    tokens.first(),
                    null);
            Held before = row.held();
            if (before != null
                    && row.isHeldBy(request.owner())
                    && before.expiresAtNanos() - held.expiresAtNanos() > 0) {
                held = held.expiringAt(before.expiresAtNanos(), before.ttlNanos());
            }
            granted.add(row.with(held, waiterAfterGrant(row, request.owner(), now), tokens.last()));
        }
        return new Grant(tokens, granted);
    }

    static long firstToken(long fence, AcquireRequest request, StoreTime now) {
        return Math.max(Math.max(1, fence + 1), Math.max(request.seenToken() + 1, now.wallMicros()));
    }

    /**
     * The waiter after a grant: one that has the lock now, or missed its chance, is removed; one that was overtaken
     * stays.
     */
    static @Nullable Waiter waiterAfterGrant(LeaseRow row, OwnerToken owner, StoreTime now) {
        Waiter waiter = row.waiter();
        if (waiter == null || row.isAwaitedBy(owner)) {
            return null;
        }
        boolean hadItsChance = row.held() == null && now.nanos() - waiter.sinceNanos() >= PATIENCE.toNanos();
        return hadItsChance ? null : waiter;
    }

    /** The row with its hold extended to one ttl from now, or null if this owner token does not hold it. */
    public static @Nullable LeaseRow renew(LeaseRow row, OwnerToken owner, long ttlNanos, StoreTime now) {
        Held held = row.held();
        if (held == null || !row.isHeldBy(owner)) {
            return null;
        }
        long untilNanos = now.nanos() + ttlNanos;
        return untilNanos - held.expiresAtNanos() <= 0
                ? row
                : row.with(held.expiringAt(untilNanos, ttlNanos), row.waiter(), row.fence());
    }

    /** The row without this owner token's hold and place; its fence is raised to the ballot as far as allowed. */
    public static LeaseRow release(LeaseRow row, OwnerToken owner, long ballot, StoreTime now) {
        LeaseRow raised = raised(row, owner, ballot, now);
        return row.isHeldBy(owner) ? raised.freedAt(now.nanos()) : raised;
    }

    static LeaseRow raised(LeaseRow row, OwnerToken owner, long ballot, StoreTime now) {
        long mostFence = Math.max(row.fence(), now.wallMicros()) + FENCE_LEAD.toNanos() / 1000;
        long fence = Math.max(row.fence(), Math.min(ballot, mostFence));
        Waiter waiter = row.isAwaitedBy(owner) ? null : row.waiter();
        return row.with(row.held(), waiter, fence);
    }

    /**
     * The row with the ticket in the place of the holder; its fence is raised to the ballot as far as allowed. The
     * ticket's hold is bound to no process: it ends by time.
     */
    public static LeaseRow export(LeaseRow row, ExportRequest request, StoreTime now) {
        LeaseRow raised = raised(row, request.owner(), request.ballot(), now);
        if (!row.isHeldBy(request.owner())) {
            return raised;
        }
        long claimNanos = request.claimNanos();
        Held ticket = new Held(
                request.ticket(), request.holderId(), now.nanos() + claimNanos, claimNanos, request.token(), null);
        return raised.with(ticket, raised.waiter(), raised.fence());
    }

    /**
     * Decides on a request to continue an exported lease: the ticket's owner token is replaced, and nothing else. The
     * ttl replaces the claim, which would outlive a holder that crashes.
     */
    public static Decision resume(LeaseRow row, AcquireRequest request, OwnerToken ticket, StoreTime now) {
        return row.isHeldBy(ticket) || row.isHeldBy(request.owner())
                ? grant(List.of(row), request, now)
                : new Wait(row.holder(now), List.of(), Long.MAX_VALUE);
    }

    /** The row without its hold, with its fence raised above it; null if it is free, or another holder holds it. */
    public static @Nullable LeaseRow forceRelease(LeaseRow row, @Nullable String holderId, StoreTime now) {
        Held held = row.held();
        if (held == null || (holderId != null && !held.holderId().equals(holderId))) {
            return null;
        }
        return row.with(held, row.waiter(), fenceAfterForce(row, now)).freedAt(now.nanos());
    }

    static long fenceAfterForce(LeaseRow row, StoreTime now) {
        return Math.min(Math.max(row.fence() + 1, now.wallMicros()), TokenRange.LIMIT - 1);
    }

    /** Whether a waiter should request this lock again: the lock is free, or no next waiter is noted. */
    public static boolean isWorthAsking(@Nullable LeaseRow row, OwnerToken owner, StoreTime now) {
        if (row == null) {
            return true;
        }
        return row.held() == null ? !isKeptForAnother(row, owner, now) : row.waiter() == null || row.isHeldBy(owner);
    }
}
