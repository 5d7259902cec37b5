package io.leasehold.simulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.node.Ballot;
import io.leasehold.node.LockNode;
import io.leasehold.node.Membership;
import io.leasehold.node.NodeReply;
import io.leasehold.node.PassingNode;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Plans of many seeds break no guarantee, every fault occurs in them, and a broken guarantee is detected and its plan
 * minimised.
 */
@Tag("full")
final class SimulatorTest {

    private static final int MAX_SEEDS = 2_000;

    private static final int RUNS = Integer.getInteger("leasehold.simulation.runs", 250);
    private static final long FIRST = Long.getLong("leasehold.simulation.seed", 1);

    private static LockNode deletesWhateverItFinds(LockNode node) {
        return new PassingNode(node) {
            @Override
            public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
                return node.release(request)
                        .thenCombine(node.admin().forceRelease(request.names().get(0), null), (reply, forced) -> reply);
            }
        };
    }

    /** The last release of this run was answered at the moment of the judgement, and its callbacks were due then. */
    @Test
    void anEndThatIsReportedAtTheMomentOfTheJudgementCounts() {
        assertThat(Simulator.standard().run(1795897869001L, 1).failed()).isEmpty();
    }

    @Test
    void noPlanBreaksAPromiseAndEveryFaultOccurs() {
        SimulationReport report = Simulator.standard().run(FIRST, RUNS);

        assertThat(report.failed())
                .as("each alone: verify/run simulate --runs 1 --seed S")
                .allSatisfy(failed -> assertThat(failed.problems())
                        .as("seed %d", failed.plan().seed())
                        .isEmpty());
        assertThat(report.simulated().toSeconds() / report.runs())
                .as("simulated seconds of a run")
                .isBetween(59L, 75L);
        if (RUNS >= 250) {
            assertThat(report.neverHappened()).isEmpty();
            assertThat(report.events())
                    .as("what has to happen at least sometimes")
                    .containsKeys(
                            "acquisitions",
                            "another ballot",
                            "attempt AMBIGUOUS",
                            "attempt BUSY",
                            "attempt ERROR",
                            "attempt INTERRUPTED",
                            "attempt TIMEOUT",
                            "at risk",
                            "end sent again",
                            "lost EXPIRED",
                            "lost FORCE_RELEASED",
                            "lost MAX_HOLD",
                            "lost NOT_OURS",
                            "passed on",
                            "passed on in the process",
                            "refused checking",
                            "release ALREADY_LOST",
                            "release UNCONFIRMED",
                            "renewal FAILED",
                            "renewal NOT_OURS",
                            "several at once");
        }
    }

    @Test
    void theSameSeedGivesTheSameBytesOfHistory() {
        for (long seed = 1; seed <= 12; seed++) {
            SimulationPlan plan = SimulationPlan.ofSeed(seed);
            SimulationResult once = Simulator.standard().run(plan);
            SimulationResult again = Simulator.standard().run(SimulationPlan.ofSeed(seed));
            assertThat(again.history().text())
                    .as("seed %d", seed)
                    .isEqualTo(once.history().text())
                    .isNotEmpty();
            assertThat(again.traceHash()).isEqualTo(once.traceHash());
        }
    }

    @Test
    void whatFailsIsMadeSmallAndToldByTime() {
        Simulator simulator = Simulator.over(SimulatorTest::deletesWhateverItFinds);
        SimulationResult failed = firstFailure(SimulatorTest::deletesWhateverItFinds);

        SimulationPlan small = simulator.shrink(failed.plan());

        SimulationResult again = simulator.run(small);
        assertThat(again.kind()).isEqualTo(failed.kind());
        assertThat(small.chaosMillis()).isLessThan(failed.plan().chaosMillis());
        assertThat(small.harms()).hasSizeLessThanOrEqualTo(failed.plan().harms().size());
        List<String> timeline = simulator.timeline(small);
        assertThat(timeline).anyMatch(line -> line.contains("Acquired")).anyMatch(line -> line.contains("==>"));
        assertThatThrownBy(() -> Simulator.standard().shrink(SimulationPlan.ofSeed(1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("seed 1 does not fail");
    }

    @Test
    void aRenewalThatRenewsNothingIsCaught() {
        assertBreaks(
                node -> new PassingNode(node) {
                    @Override
                    public CompletableFuture<RenewReply> renew(RenewBatch batch) {
                        return CompletableFuture.completedFuture(new RenewReply(batch.items().stream()
                                .<RenewReply.Item>map(item -> new RenewReply.Renewed(0))
                                .toList()));
                    }
                },
                Pattern.compile("overlap"));
    }

    @Test
    void anUndoThatRaisesNoFenceIsCaught() {
        assertBreaks(
                node -> new PassingNode(node) {
                    @Override
                    public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
                        return node.release(new ReleaseRequest(
                                request.names(), request.owner(), 0, request.kind(), request.timeoutNanos()));
                    }
                },
                Pattern.compile("zombie"));
    }

    @Test
    void nodesThatForgetWithoutAQuarantineAreCaught() {
        assertBreaks(
                node -> new PassingNode(node) {
                    @Override
                    public CompletableFuture<NodeReply> acquire(Ballot ballot, Membership member) {
                        return node.acquire(
                                ballot,
                                new Membership(
                                        member.configuration(),
                                        member.estimateMicros(),
                                        0,
                                        member.boundMicros(),
                                        member.persistence()));
                    }
                },
                Pattern.compile("overlap|token"));
    }

    /** Asserts that some run of the variant breaks such a guarantee, whatever else it breaks. */
    private static void assertBreaks(UnaryOperator<LockNode> variant, Pattern promise) {
        Simulator simulator = Simulator.over(variant);
        for (long seed = 1; seed <= MAX_SEEDS; seed++) {
            List<String> problems = simulator.run(SimulationPlan.ofSeed(seed)).problems();
            if (problems.stream().anyMatch(problem -> promise.matcher(problem).lookingAt())) {
                return;
            }
        }
        throw new AssertionError("no run of seeds 1 to " + MAX_SEEDS + " breaks " + promise);
    }

    private static SimulationResult firstFailure(UnaryOperator<LockNode> variant) {
        SimulationReport report = Simulator.over(variant).run(1, 600);
        assertThat(report.failed()).as("found in 600 runs").isNotEmpty();
        return report.failed().get(0);
    }
}
