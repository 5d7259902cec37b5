package io.leasehold.testkit.tck;

/**
 * Faults that a backend has to survive without a validity that begins too late, a duty that ends, or a place that stays. Waiters whose
 * process is killed are a part of their own, {@link KilledWaiterTck}, since they wait for what ends by itself.
 */
public interface FaultsTck extends SendingTck, DutiesTck, LeavingTck {}
