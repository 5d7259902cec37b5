package io.leasehold.spring;

/**
 * The treatment of a body whose lease is lost while it runs. In each case the caller gets a {@link
 * io.leasehold.LeaseLostException} when the body has ended, which keeps the body's own exception as a suppressed one.
 */
public enum OnLoss {
    /** The thread of a blocking body is interrupted, a publisher or a stage is cancelled. */
    INTERRUPT,
    /** The body goes on; {@code lease.onLost} and {@code lease.isValid()} tell it. */
    NOTIFY
}
