package io.leasehold.reactor;

import io.leasehold.Hold;
import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.MultiLease;
import io.leasehold.ReleaseOutcome;
import io.leasehold.spi.method.LeaseScope;
import org.jspecify.annotations.Nullable;

/** The errors that report a loss to a subscriber. */
final class Losses {

    private Losses() {}

    /** The loss of a hold, or null if it is held or was released. */
    static @Nullable LeaseLostException of(Hold hold) {
        return LeaseScope.lossOf(hold);
    }

    /** The loss that only the release has detected, or null. */
    static @Nullable LeaseLostException foundBy(@Nullable ReleaseOutcome outcome, Hold hold) {
        return outcome == ReleaseOutcome.ALREADY_LOST
                ? new LeaseLostException(
                        name(hold), LossCause.NOT_OURS, "it was gone when it was released after the work")
                : null;
    }

    private static LockName name(Hold hold) {
        return hold instanceof Lease lease
                ? lease.lockName()
                : ((MultiLease) hold).lockNames().get(0);
    }

    /** Adds the error of the work to the loss, unless the work failed with that loss itself. */
    static Throwable with(LeaseLostException lost, @Nullable Throwable error) {
        if (error instanceof LeaseLostException told && told.lockName().equals(lost.lockName())) {
            return told;
        }
        if (error != null) {
            lost.addSuppressed(error);
        }
        return lost;
    }
}
