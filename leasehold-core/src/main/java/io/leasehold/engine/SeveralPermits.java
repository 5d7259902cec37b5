package io.leasehold.engine;

import io.leasehold.LockName;
import io.leasehold.MultiPermit;

/** Several permits of a name at once: stateless; each acquiring method starts one {@link MultiPermitAttempt}. */
final class SeveralPermits extends AbstractLock<MultiPermit> {

    private final LockName name;
    private final int number;

    /**
     * Creates the permits.
     *
     * @param name a name with a count
     * @throws IllegalArgumentException if the number is below 1 or above the count
     */
    SeveralPermits(LockName name, int number, WaitSettings settings, Attempts attempts) {
        super(settings, attempts);
        if (number < 1 || number > name.permitCount()) {
            throw new IllegalArgumentException("permits \"" + name + "\" have a count of " + name.permitCount()
                    + ", and " + number + " were requested at once; request 1 to " + name.permitCount());
        }
        this.name = name;
        this.number = number;
    }

    @Override
    String what() {
        return number + " of the permits \"" + name + "\"";
    }

    @Override
    PendingAttempt<MultiPermit> enter(long maxWaitNanos) {
        return attempts.enterPermits(name, number, settings, maxWaitNanos);
    }

    /** Refuses nothing, as for one permit. */
    @Override
    void refuseSelfWait() {}

    @Override
    public String toString() {
        return "Permits[" + number + " of " + name.permitCount() + " of " + name + " at " + attempts.storeDescription()
                + "]";
    }
}
