package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Guarantee;
import io.leasehold.Guarantees;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.jdbc.sqlite.Synchronous;
import io.leasehold.jdbc.store.BootOrigin;
import io.leasehold.jdbc.store.MachineClock;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The guarantees of a file depend on the clock and on the effect of a loss of power. */
@Tag("quick")
class SqliteGuaranteesTest {

    private static Guarantees guarantees(boolean knowsBoot, Synchronous synchronous) {
        SystemLockRuntime runtime = new SystemLockRuntime();
        try {
            BootOrigin boot = knowsBoot ? new BootOrigin("boot:b", 0) : null;
            return SqliteStore.guarantees(new MachineClock(runtime, boot), synchronous);
        } finally {
            runtime.close();
        }
    }

    private static Guarantees of(Guarantee.Exclusion exclusion, Guarantee.Fencing fencing) {
        return new Guarantees(exclusion, fencing, Guarantee.Queueing.WAKE_UP, Guarantee.Scope.MACHINE);
    }

    @Test
    void withoutTheClockOfTheBootItPromisesLess() {
        assertThat(guarantees(true, Synchronous.NORMAL))
                .isEqualTo(of(Guarantee.Exclusion.BY_STORE, Guarantee.Fencing.INCREASING));
        assertThat(guarantees(true, Synchronous.FULL))
                .isEqualTo(of(Guarantee.Exclusion.BY_STORE, Guarantee.Fencing.INCREASING));
        assertThat(guarantees(false, Synchronous.FULL))
                .isEqualTo(of(Guarantee.Exclusion.WITHIN_DRIFT, Guarantee.Fencing.INCREASING));
        assertThat(guarantees(false, Synchronous.NORMAL))
                .isEqualTo(of(Guarantee.Exclusion.WITHIN_DRIFT, Guarantee.Fencing.BEST_EFFORT));
    }
}
