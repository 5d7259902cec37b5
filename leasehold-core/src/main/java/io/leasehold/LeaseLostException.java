package io.leasehold;

/** The hold has ended: what it protected may be in other hands now. Stop, and do not write. */
public final class LeaseLostException extends IllegalMonitorStateException {

    private static final long serialVersionUID = 1L;

    private final LockName lockName;
    private final LossCause lossCause;

    /** The hold on the lock was lost for this reason. */
    public LeaseLostException(LockName lockName, LossCause lossCause, String detail) {
        super("lease on \"" + lockName + "\" was lost (" + lossCause + "): " + detail);
        this.lockName = lockName;
        this.lossCause = lossCause;
    }

    /** The lock. */
    public LockName lockName() {
        return lockName;
    }

    /** Why. */
    public LossCause lossCause() {
        return lossCause;
    }
}
