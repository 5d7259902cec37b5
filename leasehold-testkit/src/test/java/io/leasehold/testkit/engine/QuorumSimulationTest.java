package io.leasehold.testkit.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.spi.Ballot;
import io.leasehold.spi.LockNode;
import io.leasehold.spi.Membership;
import io.leasehold.spi.NodeReply;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/** Random walks of the real engine over quorums of three and five; a seed that fails is named, and fails again alone. */
@SuppressWarnings("FutureReturnValueIgnored")
final class QuorumSimulationTest {

    private static final int RUNS = Integer.getInteger("leasehold.simulation.runs", 200);
    private static final long FIRST = Long.getLong("leasehold.simulation.seed", 1);

    @Test
    void noWalkBreaksAPromise() {
        Map<String, Long> counts = new TreeMap<>();
        for (long seed = FIRST; seed < FIRST + RUNS; seed++) {
            assertThat(new QuorumSimulation(seed, nodes(seed), counts, node -> node).run())
                    .as(
                            "seed %d (run it alone with -Dleasehold.simulation.seed=%d -Dleasehold.simulation.runs=1)",
                            seed, seed)
                    .isEmpty();
        }
        System.out.println("quorum simulation: " + RUNS + " walks from seed " + FIRST + ": " + counts);
        if (RUNS >= 100) {
            assertThat(counts)
                    .as("what has to happen at least sometimes")
                    .containsKeys(
                            "acquisitions",
                            "attempt ACQUIRED",
                            "attempt BUSY",
                            "attempt ERROR",
                            "attempt TIMEOUT",
                            "at risk",
                            "forget",
                            "lost EXPIRED",
                            "lost NOT_OURS",
                            "partition",
                            "release RELEASED",
                            "release UNCONFIRMED",
                            "renewal FAILED",
                            "renewal RENEWED");
        }
    }

    private static int nodes(long seed) {
        return seed % 2 == 0 ? 3 : 5;
    }

    @Test
    void theSameSeedGivesTheSameWalk() {
        for (long seed = 1; seed <= 5; seed++) {
            assertThat(hash(seed)).as("seed %d", seed).isEqualTo(hash(seed));
        }
    }

    private static long hash(long seed) {
        QuorumSimulation simulation = new QuorumSimulation(seed, nodes(seed), new TreeMap<>(), node -> node);
        simulation.run();
        return simulation.world.traceHash();
    }

    /** The controls: nodes that break a rule are caught, so the walks bite. */
    @Test
    void nodesThatForgetWithoutAQuarantineAreCaught() {
        assertThat(firstProblem(node -> new PassingNode(node) {
                    @Override
                    public CompletableFuture<NodeReply> acquire(Ballot ballot, Membership membership) {
                        return node.acquire(ballot);
                    }
                }))
                .matches("(?s)(overlap|token).*");
    }

    @Test
    void anUndoThatRaisesNoFenceIsCaught() {
        assertThat(firstProblem(node -> new PassingNode(node) {
                    @Override
                    public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
                        return node.release(new ReleaseRequest(
                                request.names(), request.owner(), 0, request.kind(), request.timeoutNanos()));
                    }
                }))
                .contains("zombie");
    }

    @Test
    void aRenewalThatRenewsNothingIsCaught() {
        assertThat(firstProblem(node -> new PassingNode(node) {
                    @Override
                    public CompletableFuture<RenewReply> renew(RenewBatch batch) {
                        return CompletableFuture.completedFuture(new RenewReply(batch.items().stream()
                                .<RenewReply.Item>map(item -> new RenewReply.Renewed(0))
                                .toList()));
                    }
                }))
                .contains("overlap");
    }

    @Test
    void oneWalkInDetail() {
        if (RUNS == 1) {
            QuorumSimulation simulation = new QuorumSimulation(FIRST, nodes(FIRST), new TreeMap<>(), node -> node);
            simulation.world.onTrace(line -> {
                if (!line.contains("MESSAGE") && !line.contains("TIMER") && !line.contains("CALLBACK")) {
                    System.out.println(line);
                }
            });
            simulation.run();
        }
    }

    private static String firstProblem(UnaryOperator<LockNode> variant) {
        for (long seed = 1; seed <= 200; seed++) {
            List<String> problems = new QuorumSimulation(seed, nodes(seed), new TreeMap<>(), variant).run();
            if (!problems.isEmpty()) {
                return problems.get(0);
            }
        }
        return "nothing was found in 200 walks";
    }
}
