package io.leasehold.testkit.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.spi.LockNode;
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

/** Random walks of the real engine over one node; a seed that fails is named, and fails again alone. */
@SuppressWarnings("FutureReturnValueIgnored")
final class SimulationTest {

    private static final int RUNS = Integer.getInteger("leasehold.simulation.runs", 400);
    private static final long FIRST = Long.getLong("leasehold.simulation.seed", 1);

    @Test
    void noWalkBreaksAPromise() {
        Map<String, Long> counts = new TreeMap<>();
        for (long seed = FIRST; seed < FIRST + RUNS; seed++) {
            assertThat(new Simulation(seed, counts, node -> node).run())
                    .as(
                            "seed %d (run it alone with -Dleasehold.simulation.seed=%d -Dleasehold.simulation.runs=1)",
                            seed, seed)
                    .isEmpty();
        }
        System.out.println("simulation: " + RUNS + " walks from seed " + FIRST + ": " + counts);
        if (RUNS >= 200) {
            assertThat(counts)
                    .as("what has to happen at least sometimes")
                    .containsKeys(
                            "acquisitions",
                            "another ballot",
                            "attempt ACQUIRED",
                            "attempt AMBIGUOUS",
                            "attempt BUSY",
                            "attempt INTERRUPTED",
                            "attempt TIMEOUT",
                            "at risk",
                            "crash",
                            "doubled messages",
                            "handed over",
                            "lost EXPIRED",
                            "lost FORCE_RELEASED",
                            "lost NOT_OURS",
                            "lost messages",
                            "release ALREADY_LOST",
                            "release RELEASED",
                            "release UNCONFIRMED",
                            "renewal FAILED",
                            "renewal RENEWED");
        }
    }

    @Test
    void theSameSeedGivesTheSameWalk() {
        for (long seed = 1; seed <= 20; seed++) {
            assertThat(hash(seed)).as("seed %d", seed).isEqualTo(hash(seed));
        }
    }

    private static long hash(long seed) {
        Simulation simulation = new Simulation(seed, new TreeMap<>(), node -> node);
        simulation.run();
        return simulation.world.traceHash();
    }

    /** The control: nodes that break a rule are caught, so the walks bite. */
    @Test
    void aReleaseThatComparesNothingIsCaught() {
        assertThat(firstProblem(node -> new PassingNode(node) {
                    @Override
                    public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
                        CompletableFuture<ReleaseReply> reply = node.release(request);
                        node.forceRelease(request.names().get(0), null);
                        return reply;
                    }
                }))
                .contains("overlap");
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
    void oneWalkInDetail() {
        if (RUNS == 1) {
            Simulation simulation = new Simulation(FIRST, new TreeMap<>(), node -> node);
            simulation.world.onTrace(line -> {
                if (!line.contains("MESSAGE") && !line.contains("TIMER") && !line.contains("CALLBACK")) {
                    System.out.println(line);
                }
            });
            simulation.run();
        }
    }

    private static String firstProblem(UnaryOperator<LockNode> variant) {
        for (long seed = 1; seed <= 400; seed++) {
            List<String> problems = new Simulation(seed, new TreeMap<>(), variant).run();
            if (!problems.isEmpty()) {
                return problems.get(0);
            }
        }
        return "nothing was found in 400 walks";
    }
}
