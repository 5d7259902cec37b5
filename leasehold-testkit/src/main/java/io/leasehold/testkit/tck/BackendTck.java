package io.leasehold.testkit.tck;

/** All tests that a backend must pass: the contract of its {@code LockStore}, and the lock over it. */
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
