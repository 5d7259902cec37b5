package io.leasehold.simulator;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.node.PassingNode;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests that readers, permits and tickets keep their promises under the faults of the plans, and that a wrong node is caught. */
@Tag("full")
final class KindRunsTest {

    private static final int RUNS = 80;

    private static SimulationReport run(LeaseKind kind) {
        SimulationReport report = Simulator.standard().of(kind).run(1, RUNS);
        assertThat(report.failed()).as("%s", kind).isEmpty();
        assertThat(report.events().get("acquisitions")).isGreaterThan(1_000);
        return report;
    }

    @Test
    void noWriterIsValidWithAnotherLease() {
        assertThat(run(LeaseKind.READERS).events()).containsKeys("downgrades", "lost NOT_OURS", "attempt AMBIGUOUS");
    }

    @Test
    void eachSlotOfPermitsIsExclusive() {
        assertThat(run(LeaseKind.PERMITS).events())
                .containsKeys("began from a message", "lost NOT_OURS", "attempt BUSY", "attempt AMBIGUOUS");
    }

    @Test
    void aTicketIsResumedOnceWithNoOtherHolderBefore() {
        assertThat(run(LeaseKind.TICKETS).events())
                .containsKeys("tickets", "tickets resumed", "tickets refused or not confirmed", "exports that failed");
    }

    @Test
    void aNodeThatGrantsAFreeLockToATicketIsCaught() {
        Simulator wrong = Simulator.over(node -> new PassingNode(node) {
                    @Override
                    public CompletableFuture<NodeReply> resume(Ballot ballot, OwnerToken ticket) {
                        return node.admin()
                                        .describe(ballot.request().name())
                                        .join()
                                        .isEmpty()
                                ? node.acquire(ballot)
                                : super.resume(ballot, ticket);
                    }
                })
                .of(LeaseKind.TICKETS);
        List<SimulationResult> failed = wrong.run(1, RUNS).failed();
        assertThat(failed).isNotEmpty();
        assertThat(failed.get(0).kind()).isEqualTo("ticket");
    }

    @Test
    void aRenewalThatRenewsNothingIsCaughtAsAnOverlapOfEachKind() {
        for (LeaseKind kind : LeaseKind.values()) {
            Simulator wrong = Simulator.over(node -> new PassingNode(node) {
                        @Override
                        public CompletableFuture<RenewReply> renew(RenewBatch batch) {
                            return CompletableFuture.completedFuture(new RenewReply(batch.items().stream()
                                    .<RenewReply.Item>map(item -> new RenewReply.Renewed(0))
                                    .toList()));
                        }
                    })
                    .of(kind);
            assertThat(wrong.run(1, 4 * RUNS).failed())
                    .as("%s", kind)
                    .anyMatch(failed -> failed.problems().stream().anyMatch(problem -> problem.startsWith("overlap")));
        }
    }
}
