package io.leasehold.spring;

/** The treatment of a locked method that is called inside a transaction of its caller. */
public enum OuterTransaction {
    /**
     * The lease stays held, and renewed, until that transaction has completed, however it completes; before its commit the lease
     * is checked as before that of a transaction of the body. A method that returns a stage takes no part in that transaction,
     * since its body runs on another thread: its lease ends with its stage.
     */
    RELEASE_AFTER_COMPLETION,
    /** The call is refused with an {@link IllegalStateException}, before the lock is asked for. */
    FAIL
}
