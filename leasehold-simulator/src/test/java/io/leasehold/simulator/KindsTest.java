package io.leasehold.simulator;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests a few simulated runs of each kind of lease; {@link KindRunsTest} has many, and wrong nodes. */
@Tag("quick")
final class KindsTest {

    private static final int RUNS = 4;

    @Test
    void eachKindKeepsItsPromises() {
        for (LeaseKind kind : LeaseKind.values()) {
            SimulationReport report = Simulator.standard().of(kind).run(1, RUNS);
            assertThat(report.failed()).as("%s", kind).isEmpty();
            assertThat(report.events().get("acquisitions")).as("%s", kind).isGreaterThan(20);
        }
    }

    @Test
    void equalSeedsGiveEqualRunsOfEachKind() {
        for (LeaseKind kind : LeaseKind.values()) {
            Simulator simulator = Simulator.standard().of(kind);
            SimulationResult once = simulator.run(simulator.plan(7));
            SimulationResult again = simulator.run(simulator.plan(7));
            assertThat(again.history().text()).isEqualTo(once.history().text()).isNotEmpty();
            assertThat(again.traceHash()).isEqualTo(once.traceHash());
        }
    }
}
