package io.leasehold.testkit.tck;

/**
 * Tests of faults that a backend must survive: no validity may begin too late, no duty may end, and no place may stay.
 * {@link KilledWaiterTck} tests waiters whose process is killed; it is separate, since it must wait for expiry.
 */
public interface FaultsTck extends SendingTck, DutiesTck, LeavingTck, TicketFaultsTck, ReadWriteFaultsTck {}
