package io.leasehold.shedlock;

import io.leasehold.Lease;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import net.javacrumbs.shedlock.core.AbstractSimpleLock;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;

/** A held lock of ShedLock, with its lease. */
public final class LeaseholdSimpleLock extends AbstractSimpleLock {

    private final Lease lease;
    private final LeaseEnd end;
    /** Whether an extension has replaced the minimum time of which the client knows. */
    private final boolean extended;

    private LeaseholdSimpleLock(LockConfiguration configuration, Lease lease, LeaseEnd end, boolean extended) {
        super(configuration);
        this.lease = lease;
        this.end = end;
        this.extended = extended;
    }

    static LeaseholdSimpleLock held(LockConfiguration configuration, Lease lease, long endsAtNanos, boolean renewed) {
        LeaseEnd end = new LeaseEnd(lease, renewed);
        end.movedTo(endsAtNanos);
        return new LeaseholdSimpleLock(configuration, lease, end, false);
    }

    /** The lease, which reports a loss; ShedLock has no concept of a loss. */
    public Lease lease() {
        return lease;
    }

    /** The fencing token, for the resource: see {@link Lease#fencingToken()}. */
    public long fencingToken() {
        return lease.fencingToken();
    }

    @Override
    public void doUnlock() {
        if (extended) {
            end.movedTo(System.nanoTime() + remaining(lockConfiguration).toNanos());
        } else {
            // The client keeps the lock for lockAtLeastFor, without a holder.
            end.now();
        }
    }

    private static Duration remaining(LockConfiguration configuration) {
        Duration kept = Duration.between(ClockProvider.now(), configuration.getLockAtLeastUntil());
        return kept.isNegative() ? Duration.ZERO : kept;
    }

    @Override
    public Optional<SimpleLock> doExtend(LockConfiguration longer) {
        boolean held = end.movedTo(System.nanoTime() + longer.getLockAtMostFor().toNanos());
        return held ? Optional.of(new LeaseholdSimpleLock(longer, lease, end, true)) : Optional.empty();
    }

    /**
     * The time at which a lease is released, even if its holder is not done.
     *
     * <p>Guarded by {@code this}; requests to the store are sent outside of it.
     */
    private static final class LeaseEnd {

        private final Lease lease;
        /**
         * Whether the client renews the lease; otherwise it is renewed here, once its end was moved beyond its
         * validity.
         */
        private final boolean renewed;

        private long endsAtNanos;
        private boolean begun;
        private boolean over;
        private CompletableFuture<?> nextCheck = CompletableFuture.completedFuture(null);
        private CompletableFuture<?> nextRenewal = CompletableFuture.completedFuture(null);

        LeaseEnd(Lease lease, boolean renewed) {
            this.lease = lease;
            this.renewed = renewed;
        }

        /** Moves the end; false if the previous end has already passed, or the lease was lost. */
        boolean movedTo(long atNanos) {
            synchronized (this) {
                long now = System.nanoTime();
                boolean late = begun && now - endsAtNanos >= 0;
                boolean longer = begun && atNanos - endsAtNanos > 0;
                endsAtNanos = late || over ? endsAtNanos : atNanos;
                begun = true;
                if (!over && !late && lease.isValid() && atNanos - now > 0) {
                    nextCheck.cancel(false);
                    nextCheck = later(atNanos - now, this::endIfDue);
                    if (longer) {
                        renewLater(0);
                    }
                    return true;
                }
                over();
            }
            lease.close();
            return false;
        }

        /** Ends the lease now. */
        void now() {
            synchronized (this) {
                over();
            }
            lease.close();
        }

        /** Called under the guard. Cancels the timers: they would keep the lease and its client in memory. */
        private void over() {
            over = true;
            nextCheck.cancel(false);
            nextRenewal.cancel(false);
        }

        /** Runs the action after a while, unless the result is cancelled before. */
        private static CompletableFuture<?> later(long nanos, Runnable action) {
            CompletableFuture<Void> pause = new CompletableFuture<>();
            var unused = pause.thenRunAsync(action);
            return pause.completeOnTimeout(null, nanos, TimeUnit.NANOSECONDS);
        }

        private void endIfDue() {
            synchronized (this) {
                if (over || System.nanoTime() - endsAtNanos < 0) {
                    return; // it was moved, and a later check follows
                }
                over();
            }
            lease.close();
        }

        private synchronized void renewLater(long nanos) {
            if (!over) {
                nextRenewal.cancel(false);
                nextRenewal = later(nanos, this::renewIfNeeded);
            }
        }

        /** Renews early enough for a second try. */
        private void renewIfNeeded() {
            synchronized (this) {
                long missing = endsAtNanos
                        - System.nanoTime()
                        - lease.remainingValidity().toNanos();
                if (renewed || over || missing <= 0 || !lease.isValid()) {
                    return;
                }
            }
            lease.renewAsync()
                    .whenComplete((done, error) ->
                            renewLater(lease.remainingValidity().dividedBy(3).toNanos()));
        }
    }
}
