package io.leasehold.engine;

import io.leasehold.Durations;
import io.leasehold.LockOptions;
import io.leasehold.ReleaseOutcome;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The return of a lease whose holder is done with it. The lock is kept for {@link LockOptions#atLeast()}; then it is
 * passed on to the next attempt in the process, if that is allowed, else released.
 *
 * <p>It has no state that changes: the grant decides.
 */
final class LeaseReturn {

    private static final long RELEASE_AGAIN_NANOS = 1_000_000_000L;

    /** The grant of the lease. */
    interface Grant extends LeaseOwner {

        void checkForSuspension();

        /** Whether the lock is to be kept for a while; the thread of the lease may die from now on. */
        boolean beginKeeping(GrantMachine.Keeping keeping);

        /**
         * Returns the next lease of the grant. Returns null if it may not be passed on, or the machine was suspended
         * since the last check.
         */
        @Nullable
        ActiveLease nextToPassOn();

        /** Ends the grant with this lease as its last. */
        void releaseFor(ActiveLease lease);
    }

    private final Grant grant;
    private final LocalQueues queues;
    private final ActiveLease lease;

    LeaseReturn(Grant grant, LocalQueues queues, ActiveLease lease) {
        this.grant = grant;
        this.queues = queues;
        this.lease = lease;
    }

    void begin() {
        Duration atLeast = grant.settings().options().atLeast();
        if (atLeast.isZero() || !Futures.succeeds(grant.name(), "kept for " + Durations.text(atLeast), this::keep)) {
            passOnOrRelease();
        }
    }

    private void passOnOrRelease() {
        if (Futures.succeeds(grant.name(), "passed on within the process", this::passOn)) {
            return;
        }
        try {
            grant.releaseFor(lease);
        } catch (RuntimeException | Error e) {
            // Otherwise, the lease would be renewed until the client closes.
            grant.context().timeline().schedule(RELEASE_AGAIN_NANOS, this::passOnOrRelease);
            throw e;
        }
    }

    private boolean keep() {
        GrantMachine.Keeping keeping = lease.keeping();
        if (!grant.beginKeeping(keeping)) {
            return false;
        }
        grant.context().timeline().scheduleAt(keeping.fromAtNanos() + keeping.forNanos(), this::passOnOrRelease);
        lease.released(ReleaseOutcome.KEPT, List.of());
        return true;
    }

    private boolean passOn() {
        while (true) {
            grant.checkForSuspension();
            LocalQueues.Contender next = lease.isForOthers() ? null : queues.first(grant.name());
            boolean isAlike = next != null && grant.settings().options().equals(next.options());
            ActiveLease passed = isAlike ? grant.nextToPassOn() : null;
            if (next == null || passed == null) {
                return false;
            }
            switch (next.handOver(passed)) {
                case ACCEPTED -> {
                    Runnable end = () -> lease.released(ReleaseOutcome.RELEASED, List.of());
                    Futures.guarded("the end of a lease that was passed on", end);
                    return true;
                }
                case GONE -> queues.leave(next);
                case CONTENDING -> {
                    return false;
                }
            }
        }
    }
}
