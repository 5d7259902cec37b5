package io.leasehold.cdi;

/**
 * The treatment of the body if the lease is lost while it runs. In each case the caller receives a
 * {@link io.leasehold.LeaseLostException} when the body has ended, with the body's own exception suppressed in it.
 */
public enum OnLoss {
    /** The thread of a blocking body is interrupted, a stage is cancelled. */
    INTERRUPT,
    /** The body continues; it learns of the loss from {@code lease.onLost} and {@code lease.isValid()}. */
    NOTIFY
}
