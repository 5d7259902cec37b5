package io.leasehold.spring;

/** The treatment of a locked method that is called inside a transaction of its caller. */
public enum OuterTransaction {
    /**
     * The lease stays held and renewed until that transaction has completed, whether by commit or rollback. The lease
     * is checked before its commit, as before the commit of a transaction inside the body. A method that returns a
     * stage does not take part in that transaction, since its body runs on another thread: its lease ends with its
     * stage.
     */
    RELEASE_AFTER_COMPLETION,
    /** The call is refused with an {@link IllegalStateException}, before the lock is requested. */
    FAIL
}
