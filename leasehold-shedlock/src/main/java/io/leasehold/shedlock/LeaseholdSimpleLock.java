package io.leasehold.shedlock;

import io.leasehold.Lease;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import net.javacrumbs.shedlock.core.AbstractSimpleLock;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;

/** A held lock of ShedLock, with its lease. */
public final class LeaseholdSimpleLock extends AbstractSimpleLock {

    private final Lease lease;
    private final LeaseEnd end;

    private LeaseholdSimpleLock(LockConfiguration configuration, Lease lease, LeaseEnd end) {
        super(configuration);
        this.lease = lease;
        this.end = end;
    }

    static LeaseholdSimpleLock held(LockConfiguration configuration, Lease lease, long endsAtNanos, boolean renewed) {
        LeaseEnd end = new LeaseEnd(lease, renewed);
        end.movedTo(endsAtNanos);
        return new LeaseholdSimpleLock(configuration, lease, end);
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
        end.movedTo(System.nanoTime() + remaining(lockConfiguration).toNanos());
    }

    private static Duration remaining(LockConfiguration configuration) {
        Duration kept = Duration.between(ClockProvider.now(), configuration.getLockAtLeastUntil());
        return kept.isNegative() ? Duration.ZERO : kept;
    }

    @Override
    public Optional<SimpleLock> doExtend(LockConfiguration longer) {
        boolean held = end.movedTo(System.nanoTime() + longer.getLockAtMostFor().toNanos());
        return held ? Optional.of(new LeaseholdSimpleLock(longer, lease, end)) : Optional.empty();
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
                over |= late || !lease.isValid();
                if (!over && atNanos - now > 0) {
                    later(atNanos - now, this::endIfDue);
                    if (longer) {
                        later(0, this::renewIfNeeded);
                    }
                    return true;
                }
                over = true;
            }
            lease.close();
            return false;
        }

        private static void later(long nanos, Runnable action) {
            Executor later = CompletableFuture.delayedExecutor(nanos, TimeUnit.NANOSECONDS);
            later.execute(action);
        }

        private void endIfDue() {
            synchronized (this) {
                if (over || System.nanoTime() - endsAtNanos < 0) {
                    return; // it was moved, and a later check follows
                }
                over = true;
            }
            lease.close();
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
                            later(lease.remainingValidity().dividedBy(3).toNanos(), this::renewIfNeeded));
        }
    }
}
