package io.leasehold.verify.queue;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.verify.run.Seeds;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Plans of many seeds break no guarantee of the stores whose locks are queues, and every fault occurs in them. */
@Tag("full")
@Timeout(300)
final class QueueSimulatorTest {

    private static final int RUNS = Integer.getInteger("leasehold.simulation.runs", 700);

    @ParameterizedTest
    @EnumSource
    void noPlanBreaksAPromiseAndEveryFaultOccurs(QueueKind kind) {
        Seeds.Report report = QueueSimulator.seeds(kind).run(1, RUNS);

        assertThat(report.failures()).isEmpty();
        if (RUNS >= 700) {
            assertThat(report.neverHappened()).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource
    void theSameSeedGivesTheSameBytesOfHistory(QueueKind kind) {
        Seeds<?> seeds = QueueSimulator.seeds(kind);
        for (long seed = 1; seed <= 12; seed++) {
            assertThat(seeds.history(seed)).isEqualTo(seeds.history(seed)).isNotEmpty();
            assertThat(seeds.traceHash(seed)).isEqualTo(seeds.traceHash(seed));
        }
    }
}
