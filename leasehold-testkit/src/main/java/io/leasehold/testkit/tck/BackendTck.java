package io.leasehold.testkit.tck;

import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.ResourceAccessMode;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.api.parallel.ResourceLockTarget;

/**
 * All tests that a backend must pass: the contract of its {@code LockStore}, and the lock over it.
 *
 * <p>Most of them wait for the end of a ttl, and each has its own names and clients. So several run at the same time if JUnit is
 * configured to do so ({@code junit.jupiter.execution.parallel.enabled=true}), which needs a machine with time to spare. Tests that
 * restart the store, delete its unused data or count threads run alone.
 */
@Execution(ExecutionMode.CONCURRENT)
@ResourceLock(value = TckBench.STORE, mode = ResourceAccessMode.READ, target = ResourceLockTarget.CHILDREN)
public interface BackendTck
        extends AcquireTck,
                RenewTck,
                ReleaseTck,
                HousekeepingTck,
                WaitingTck,
                InspectionTck,
                ExclusionTck,
                TurnsTck,
                PatienceTck,
                GivingUpTck,
                LeaseLifeTck,
                LockFormsTck,
                ElectionTck,
                TicketTck,
                MultiLockTck,
                PermitsTck,
                SeveralPermitsTck,
                ReadWriteTck,
                LockNamesTck,
                GuaranteesTck,
                CrossProcessTck,
                RestartTck {}
