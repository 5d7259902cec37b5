package io.leasehold.verify.queue;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Plans of many seeds break no promise of the stores whose locks are queues, and every fault occurs in them. */
@Tag("full")
@Timeout(300)
final class QueueSimulatorTest {

    private static final int RUNS = Integer.getInteger("leasehold.simulation.runs", 700);

    @ParameterizedTest
    @EnumSource
    void noPlanBreaksAPromiseAndEveryFaultOccurs(QueueSimulator.Kind kind) {
        QueueSimulator.Report report = QueueSimulator.run(kind, 1, RUNS);

        assertThat(report.failures()).isEmpty();
        if (RUNS >= 700) {
            assertThat(report.neverHappened()).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource
    void theSameSeedGivesTheSameBytesOfHistory(QueueSimulator.Kind kind) {
        for (long seed = 1; seed <= 12; seed++) {
            assertThat(QueueSimulator.history(kind, seed))
                    .isEqualTo(QueueSimulator.history(kind, seed))
                    .isNotEmpty();
            assertThat(QueueSimulator.traceHash(kind, seed)).isEqualTo(QueueSimulator.traceHash(kind, seed));
        }
    }
}
