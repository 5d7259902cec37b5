package io.leasehold.engine;

import io.leasehold.LockOptions;
import io.leasehold.ReleaseOutcome;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The return of a lease by its holder: it is kept for {@link LockOptions#atLeast()}, then passed on to the next attempt
 * in the process, if that is allowed, else released.
 */
final class LeaseReturn {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");
    private static final long AGAIN_NANOS = 1_000_000_000L;

    private final HeldGrant grant;
    private final ActiveLease lease;
    private final LockOptions options;
    private final LocalQueues queues;

    LeaseReturn(HeldGrant grant, ActiveLease lease, LockOptions options, LocalQueues queues) {
        this.grant = grant;
        this.lease = lease;
        this.options = options;
        this.queues = queues;
    }

    void begin() {
        if (options.atLeast().isZero() || !succeeds("kept for " + options.atLeast(), this::keep)) {
            giveBack();
        }
    }

    private void giveBack() {
        if (succeeds("passed on within the process", this::passOn)) {
            return;
        }
        try {
            grant.release(lease);
        } catch (RuntimeException | Error e) {
            // Otherwise it would be renewed for as long as the client lives.
            grant.context().timeline().schedule(AGAIN_NANOS, this::giveBack);
            throw e;
        }
    }

    /** An Error in the step does not prevent the release at the store. */
    private boolean succeeds(String what, BooleanSupplier step) {
        try {
            return step.getAsBoolean();
        } catch (RuntimeException | Error e) {
            LOG.error("lock \"{}\" could not be {}; it is released", grant.name(), what, e);
            return false;
        }
    }

    private boolean keep() {
        GrantEvent.Keeping keeping = lease.keeping();
        if (!grant.beginKeeping(keeping)) {
            return false;
        }
        grant.context().timeline().scheduleAt(keeping.fromAtNanos() + keeping.forNanos(), this::giveBack);
        lease.released(ReleaseOutcome.KEPT, List.of());
        return true;
    }

    private boolean passOn() {
        while (true) {
            grant.checkForSuspension();
            LocalQueues.Contender next = queues.first(grant.name());
            ActiveLease passed = next == null || !options.equals(next.options()) ? null : grant.nextToPassOn();
            if (next == null || passed == null) {
                return false;
            }
            switch (next.handOver(passed)) {
                case ACCEPTED -> {
                    Futures.guarded("the end of a lease that was passed on", lease::passedOn);
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
