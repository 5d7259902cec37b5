package io.leasehold.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The rules of a ticket at a node. The tests named after a variant of the formal model ({@code docs/proof/model.md})
 * fail if the node follows that variant.
 */
@Tag("quick")
final class InMemoryTicketTest {

    private static final LockName NAME = LockName.exactly("n");
    private static final long SECOND = 1_000_000_000L;

    private final SystemLockRuntime runtime = new SystemLockRuntime();
    private final InMemoryNode node = new InMemoryNode(runtime);
    private final OwnerToken holder = OwnerToken.draw(runtime);
    private final OwnerToken ticket = OwnerToken.draw(runtime);
    private final OwnerToken claimant = OwnerToken.draw(runtime);
    private final OwnerToken rival = OwnerToken.draw(runtime);

    @AfterEach
    void close() {
        runtime.close();
    }

    private long nowMicros() {
        return ((NodeReply.Answered) node.probe(0).join()).serverMicros();
    }

    private static Ballot ballot(OwnerToken owner, long candidate, int reserve) {
        return new Ballot(
                AcquireRequest.exclusive(List.of(NAME), owner, "host/1/x", 30 * SECOND, SECOND), candidate, reserve);
    }

    private NodeReply acquire(OwnerToken owner, long candidate) {
        return node.acquire(ballot(owner, candidate, 1)).join();
    }

    private NodeReply resume(OwnerToken owner, long candidate) {
        return node.resume(ballot(owner, candidate, 1), ticket).join();
    }

    private ExportReply export(long highest, long claimNanos) {
        return node.export(
                        new ExportRequest(NAME, holder, highest, ticket, 1, "ticket of host/1/x", claimNanos, SECOND))
                .join();
    }

    private ReleaseReply release(OwnerToken owner, long ballot) {
        return node.release(new ReleaseRequest(List.of(NAME), owner, ballot, ReleaseRequest.Kind.RELEASE, SECOND))
                .join();
    }

    private RenewReply.Item renew(OwnerToken owner) {
        return node.renew(new RenewBatch(List.of(new RenewBatch.Item(NAME, owner, 30 * SECOND)), SECOND))
                .join()
                .items()
                .get(0);
    }

    private long held() {
        long first = nowMicros();
        assertThat(node.acquire(ballot(holder, first, 64)).join()).isInstanceOf(NodeReply.Yes.class);
        return first;
    }

    @Test
    void theTicketTakesThePlaceOfTheHolder() {
        long first = held();
        assertThat(export(first + 63, 60 * SECOND)).isInstanceOf(ExportReply.Exported.class);
        assertThat(renew(holder)).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(acquire(rival, first + 100)).isInstanceOf(NodeReply.Held.class);
        assertThat(node.describe(NAME).join().orElseThrow().holder().isTicket()).isTrue();
        assertThat(export(first + 63, 60 * SECOND)).as("a copy").isInstanceOf(ExportReply.Exported.class);
        assertThat(resume(claimant, first + 101)).isInstanceOf(NodeReply.Yes.class);
        assertThat(export(first + 63, 60 * SECOND)).as("a late copy").isInstanceOf(ExportReply.NotOurs.class);
        assertThat(renew(claimant)).isInstanceOf(RenewReply.Renewed.class);
    }

    /** The variant export-does-not-raise. */
    @Test
    void anExportRaisesTheFenceSoThatNoLateAcquireRevivesTheHolder() {
        long first = held();
        long late = first + 500_000;
        export(late, 60 * SECOND);
        release(ticket, 0);
        assertThat(acquire(holder, late)).isInstanceOf(NodeReply.Stale.class);
    }

    @Test
    void anExportWithoutAHoldRaisesTheFenceToo() {
        long late = nowMicros() + 500_000;
        assertThat(export(late, 60 * SECOND)).isInstanceOf(ExportReply.NotOurs.class);
        assertThat(acquire(holder, late)).isInstanceOf(NodeReply.Stale.class);
        assertThat(acquire(rival, late + 1)).isInstanceOf(NodeReply.Yes.class);
        assertThat(export(late, 60 * SECOND)).isInstanceOf(ExportReply.NotOurs.class);
        assertThat(renew(rival)).isInstanceOf(RenewReply.Renewed.class);
    }

    /** The variant resume-below-the-fence. */
    @Test
    void aResumeNeedsABallotAboveTheWholeRangeOfTheHolder() {
        long first = held();
        export(first + 63, 60 * SECOND);
        assertThat(resume(claimant, first + 63)).isInstanceOf(NodeReply.Stale.class);
        assertThat(resume(claimant, first + 10_000_000)).isInstanceOf(NodeReply.Refused.class);
        assertThat(resume(claimant, first + 64)).isInstanceOf(NodeReply.Yes.class);
        assertThat(acquire(claimant, first + 64)).isInstanceOf(NodeReply.Stale.class);
    }

    /** The variant resume-as-acquire: two claimants both got yes, and a third after the claim. */
    @Test
    void aResumeIsOneSwapToTheOwnerTokenOfTheClaimant() {
        long first = held();
        export(first + 63, 60 * SECOND);
        assertThat(resume(claimant, first + 64)).isInstanceOf(NodeReply.Yes.class);
        assertThat(resume(rival, first + 65)).as("the ticket is used").isInstanceOf(NodeReply.Held.class);
        assertThat(resume(claimant, first + 66)).as("a lost reply").isInstanceOf(NodeReply.Yes.class);
        assertThat(renew(ticket)).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(release(ticket, 0)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(release(claimant, first + 66)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(resume(claimant, first + 67)).as("a late copy").isInstanceOf(NodeReply.Held.class);
    }

    /** The variant resume-keeps-the-claim. */
    @Test
    void aResumeEndsTheClaim() {
        long first = held();
        export(first + 63, 600 * SECOND);
        assertThat(resume(claimant, first + 64)).isInstanceOf(NodeReply.Yes.class);
        Duration left = remaining();
        assertThat(left)
                .as("one ttl, not the rest of the claim")
                .isBetween(Duration.ofSeconds(25), Duration.ofSeconds(30));
        node.renew(new RenewBatch(List.of(new RenewBatch.Item(NAME, claimant, 90 * SECOND)), SECOND))
                .join();
        assertThat(resume(claimant, first + 65)).isInstanceOf(NodeReply.Yes.class);
        assertThat(remaining()).as("a copy shortens no hold of its own").isGreaterThan(Duration.ofSeconds(80));
    }

    private Duration remaining() {
        return node.admin().describe(NAME).join().orElseThrow().holder().remainingTtl();
    }

    /** The variant resume-takes-free. */
    @Test
    void aResumeNeverTakesAFreeLock() {
        assertThat(resume(claimant, nowMicros()))
                .isInstanceOfSatisfying(
                        NodeReply.Held.class,
                        reply -> assertThat(reply.holder()).isNull());
        long first = held();
        export(first + 63, 1);
        assertThat(resume(claimant, first + 64)).as("after the claim").isInstanceOf(NodeReply.Held.class);
        assertThat(node.describe(NAME).join()).isEmpty();
    }

    /** The variant resume-undone: an undo of a claimant that has not won leaves the ticket. */
    @Test
    void theEndOfAnotherClaimantLeavesTheTicket() {
        long first = held();
        export(first + 63, 60 * SECOND);
        assertThat(release(rival, first + 70)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(resume(rival, first + 70)).as("its late request").isInstanceOf(NodeReply.Stale.class);
        assertThat(resume(claimant, first + 71)).isInstanceOf(NodeReply.Yes.class);
    }
}
