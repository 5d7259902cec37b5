package io.leasehold.verify.sql;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.verify.run.Seeds;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Plans of many seeds break no guarantee of the lease table, and every fault occurs in them. */
@Tag("full")
@Timeout(300)
final class SqlSimulatorTest {

    private static final int RUNS = Integer.getInteger("leasehold.simulation.runs", 250);

    @Test
    void noPlanBreaksAPromiseAndEveryFaultOccurs() {
        Seeds.Report report = SqlSimulator.seeds().run(1, RUNS);

        assertThat(report.failures())
                .as("each alone: verify/run simulate --store sql --runs 1 --seed S")
                .isEmpty();
        if (RUNS >= 250) {
            assertThat(report.neverHappened()).isEmpty();
            assertThat(report.events())
                    .as("what has to happen at least sometimes")
                    .containsKeys(
                            "acquisitions",
                            "attempt AMBIGUOUS",
                            "attempt BUSY",
                            "attempt ERROR",
                            "attempt TIMEOUT",
                            "lost EXPIRED",
                            "lost MAX_HOLD",
                            "lost NOT_OURS",
                            "notifications",
                            "passed on at once",
                            "passed on by a poll",
                            "release ALREADY_LOST",
                            "release UNCONFIRMED",
                            "renewal FAILED",
                            "renewal NOT_OURS");
        }
    }

    @Test
    void theSameSeedGivesTheSameBytesOfHistory() {
        Seeds<?> seeds = SqlSimulator.seeds();
        for (long seed = 1; seed <= 12; seed++) {
            assertThat(seeds.history(seed))
                    .as("seed %d", seed)
                    .isEqualTo(seeds.history(seed))
                    .isNotEmpty();
            assertThat(seeds.traceHash(seed)).isEqualTo(seeds.traceHash(seed));
        }
    }
}
