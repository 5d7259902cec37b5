package io.leasehold.testkit.tck;

/** Everything a backend has to pass: the contract of its {@code LockStore}, and the lock over it. */
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
                MultiLockTck,
                LockNamesTck,
                GuaranteesTck,
                CrossProcessTck,
                RestartTck {}
