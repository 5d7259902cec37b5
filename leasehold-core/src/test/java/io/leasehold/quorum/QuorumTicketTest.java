package io.leasehold.quorum;

import static io.leasehold.quorum.ScriptedSet.NAME;
import static io.leasehold.quorum.ScriptedSet.SECOND;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Holder;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.Ballot;
import io.leasehold.node.LockNode;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewReply;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Sequences of exports and resumes at a set of three nodes, with answers that the test chooses. */
@Tag("quick")
final class QuorumTicketTest {

    private static final long CLAIM = 30 * SECOND;

    private final ScriptedSet set = new ScriptedSet(3);
    private final OwnerToken ticket = set.owner();

    private CompletableFuture<ExportReply> exporting(Grant grant) {
        return set.store.export(new ExportRequest(
                NAME,
                grant.owner(),
                grant.tokens().last(),
                ticket,
                grant.tokens().first(),
                Holder.ticketOf("host/1/x"),
                CLAIM,
                SECOND));
    }

    private Grant exported() {
        Grant grant = set.granted();
        assertThat(set.clock.answer(exporting(grant))).isInstanceOf(ExportReply.Exported.class);
        return grant;
    }

    private AcquireRequest request(OwnerToken owner) {
        return AcquireRequest.exclusive(ScriptedSet.NAMES, owner, "host/1/claimant", ScriptedSet.TTL, SECOND);
    }

    private AcquireReply resumed(OwnerToken owner) {
        return set.clock.answer(set.store.resume(request(owner), ticket));
    }

    private Grant won(AcquireReply reply) {
        assertThat(reply).isInstanceOf(AcquireReply.Granted.class);
        return ((AcquireReply.Granted) reply).grant();
    }

    private Holder holder(int node) {
        return set.nodes.get(node).memory.describe(NAME).join().orElseThrow().holder();
    }

    /** The vote of another claimant at this node. */
    private OwnerToken vote(int node, String holderId) {
        OwnerToken claimant = set.owner();
        AcquireRequest request =
                AcquireRequest.exclusive(ScriptedSet.NAMES, claimant, holderId, ScriptedSet.TTL, SECOND);
        InMemoryNode memory = set.nodes.get(node).memory;
        Ballot ballot = new Ballot(request, set.clock.wallMillis() * 1_000 + 500, 1);
        NodeReply reply = memory.resume(
                        ballot,
                        ticket,
                        LockNode.Resume.VOTE,
                        set.nodes.get(node).memberships.get(0))
                .join();
        assertThat(reply).isInstanceOf(NodeReply.Yes.class);
        return claimant;
    }

    @Test
    void aLeaseTravels() {
        Grant first = exported();
        for (int node = 0; node < 3; node++) {
            assertThat(holder(node).isTicket()).isTrue();
        }
        assertThat(set.renewed(first)).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(set.ask(set.request(set.owner()))).isInstanceOf(AcquireReply.Busy.class);
        Grant second = won(resumed(set.owner()));
        assertThat(second.tokens().first()).isGreaterThan(first.tokens().last());
        assertThat(holder(0).remainingTtl()).isLessThanOrEqualTo(Duration.ofNanos(ScriptedSet.TTL));
        assertThat(resumed(set.owner())).isInstanceOf(AcquireReply.Busy.class);
        assertThat(set.renewed(second)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(set.released(second)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(resumed(set.owner())).as("no free lock").isInstanceOf(AcquireReply.Busy.class);
        assertThat(set.keeps(0) || set.keeps(1) || set.keeps(2)).isFalse();
    }

    /** A node that has forgotten a ticket grants nothing for the largest ttl, and no longer. */
    @Test
    void aClaimIsAtMostTheLargestTtl() {
        LockClient client =
                Leasehold.builder().store(set.store).runtime(set.clock).connect();
        Lease lease = set.clock.answer(client.named(NAME).acquireAsync());
        assertThat(client.keepsTickets()).isTrue();
        assertThatThrownBy(() -> set.clock.answer(lease.exportAsync(Duration.ofSeconds(31))))
                .hasRootCauseInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("31s", "30s");
        assertThat(lease.isValid()).isTrue();
        assertThat(set.clock.answer(lease.exportAsync(Duration.ofSeconds(30))).lockName())
                .isEqualTo(NAME);
    }

    /** A minority is no confirmation: the other nodes may have another holder soon. */
    @Test
    void aMinorityConfirmsNoExport() {
        Grant grant = set.granted();
        set.nodes.get(0).answers("export", ScriptedNode.SILENCE);
        set.nodes.get(1).answers("export", ScriptedNode.SILENCE);
        ExportReply reply = set.clock.answer(exporting(grant));
        assertThat(reply).isInstanceOf(ExportReply.Failed.class);
        assertThat(((ExportReply.Failed) reply).kind()).isEqualTo(FailureKind.UNKNOWN);
    }

    /** A node that did not answer receives the export again, in the background: each node counts for the claimant. */
    @Test
    void theLastNodeIsAskedUntilItAnswers() {
        Grant grant = set.granted();
        set.nodes.get(2).answers("export", new ExportReply.Failed(FailureKind.UNKNOWN, failure()));
        assertThat(set.clock.answer(exporting(grant))).isInstanceOf(ExportReply.Exported.class);
        set.pass(100);
        assertThat(holder(2).isTicket()).isFalse();
        set.nodes.get(2).answersItself("export");
        set.pass(2_000);
        assertThat(holder(2).isTicket()).isTrue();
        int sent = set.nodes.get(2).exports.size();
        set.pass(5_000);
        assertThat(set.nodes.get(2).exports).hasSize(sent);
    }

    private static io.leasehold.StoreUnavailableException failure() {
        return new io.leasehold.StoreUnavailableException("no way (made by the test)", null);
    }

    /** The engine undoes an export that was not confirmed: no copy may follow, since it could write the ticket again. */
    @Test
    void anUndoEndsTheRepetitions() {
        Grant grant = set.granted();
        set.nodes.forEach(node -> node.answers("export", new ExportReply.Failed(FailureKind.UNKNOWN, failure())));
        set.clock.answer(exporting(grant));
        set.clock.answer(set.releasing(grant.owner(), grant.tokens().last(), ReleaseRequest.Kind.UNDO));
        int sent = set.nodes.get(0).exports.size();
        set.pass(10_000);
        assertThat(set.nodes.get(0).exports).hasSize(sent);
        assertThat(set.keeps(0)).isFalse();
    }

    @Test
    void aLostLeaseIsNotExported() {
        Grant grant = set.granted();
        set.nodes.forEach(node -> node.memory.forceRelease(NAME, null).join());
        assertThat(set.clock.answer(exporting(grant))).isInstanceOf(ExportReply.NotOurs.class);
    }

    /** The repairs of the exporter, which the engine does not know, are below the fence at every node. */
    @Test
    void theFenceRisesAboveTheRepairs() {
        Grant grant = set.granted();
        set.nodes.get(2).memory.forceRelease(NAME, null).join();
        set.renewed(grant);
        set.pass(100);
        long repair = QuorumSessionTest.last(set.nodes.get(2)).candidate();
        assertThat(repair).isGreaterThan(grant.tokens().last());
        set.clock.answer(exporting(grant));
        assertThat(set.nodes.get(0).exports.get(0).ballot()).isGreaterThanOrEqualTo(repair);
    }

    /** A vote does not move the end of the claim, since another claimant may win. */
    @Test
    void aVoteExtendsNothing() {
        exported();
        set.pass(15_000);
        set.nodes.get(1).answers("resume", ScriptedNode.SILENCE);
        set.nodes.get(2).answers("resume", ScriptedNode.SILENCE);
        AcquireReply reply = resumed(set.owner());
        assertThat(reply).isInstanceOf(AcquireReply.Failed.class);
        assertThat(((AcquireReply.Failed) reply).kind()).isEqualTo(FailureKind.UNKNOWN);
        assertThat(holder(0).id()).isEqualTo("host/1/claimant");
        assertThat(holder(0).remainingTtl()).isLessThanOrEqualTo(Duration.ofSeconds(15));
    }

    /** The same owner token asks again, and finds its votes. */
    @Test
    void votesWithoutAnAnswerCountLater() {
        exported();
        OwnerToken owner = set.owner();
        set.nodes.get(1).answers("resume", ScriptedNode.SILENCE);
        set.nodes.get(2).answers("resume", ScriptedNode.SILENCE);
        AcquireReply reply = resumed(owner);
        set.nodes.get(1).answersItself("resume");
        Grant grant = won(set.clock.answer(set.store.resume(request(owner).ballotSoFar(reply.ballot()), ticket)));
        assertThat(grant.owner()).isEqualTo(owner);
        assertThat(grant.tokens().first()).isGreaterThan(reply.ballot());
    }

    /** Each of three claimants has one vote: this one returns its own, and wins once the others have done the same. */
    @Test
    void splitVotesAreGivenBack() {
        exported();
        OwnerToken one = vote(0, "host/2/one");
        OwnerToken other = vote(1, "host/3/other");
        OwnerToken owner = set.owner();
        AcquireReply reply = resumed(owner);
        assertThat(reply).isInstanceOf(AcquireReply.Refused.class);
        set.pass(100);
        assertThat(holder(2).isTicket()).isTrue();
        assertThat(holder(2).remainingTtl()).isLessThanOrEqualTo(Duration.ofSeconds(30));
        for (int node = 0; node < 2; node++) {
            OwnerToken voter = node == 0 ? one : other;
            long ballot = set.clock.wallMillis() * 1_000;
            set.nodes
                    .get(node)
                    .memory
                    .export(new ExportRequest(NAME, voter, ballot, ticket, ballot, "ticket of host", 0, SECOND))
                    .join();
        }
        Grant grant = won(set.clock.answer(set.store.resume(request(owner).ballotSoFar(reply.ballot()), ticket)));
        assertThat(grant.owner())
                .as("an owner token that was returned is not used again")
                .isNotEqualTo(owner);
        assertThat(set.clock.answer(set.releasing(owner, 0, ReleaseRequest.Kind.UNDO)))
                .as("the engine may name the owner token of its requests")
                .isInstanceOf(ReleaseReply.Released.class);
    }

    /** A late swap of an owner token that was returned is below the fence. */
    @Test
    void whatWasGivenBackDoesNotComeBack() {
        exported();
        vote(0, "host/2/one");
        vote(1, "host/3/other");
        OwnerToken owner = set.owner();
        resumed(owner);
        set.pass(100);
        Ballot late = set.nodes.get(2).resumes.get(0);
        assertThat(late.request().owner()).isEqualTo(owner);
        NodeReply reply = set.nodes
                .get(2)
                .memory
                .resume(
                        late,
                        ticket,
                        LockNode.Resume.VOTE,
                        set.nodes.get(2).memberships.get(0))
                .join();
        assertThat(reply).isInstanceOf(NodeReply.Stale.class);
        assertThat(holder(2).isTicket()).isTrue();
    }

    /** Own votes that are still being returned do not count for another claimant, even if they are a quorum. */
    @Test
    void unreturnedVotesAreNoClaimant() {
        exported();
        vote(0, "host/2/one");
        set.pass(5);
        set.nodes.get(1).delayNanos.put("resume", 2 * SECOND);
        set.nodes.get(2).delayNanos.put("resume", 2 * SECOND);
        set.nodes.forEach(node -> node.answers("export", new ExportReply.Failed(FailureKind.NO_EFFECT, failure())));
        OwnerToken owner = set.owner();
        AcquireReply split = resumed(owner);
        assertThat(split).isInstanceOf(AcquireReply.Refused.class);
        set.nodes.forEach(node -> node.delayNanos.clear());
        AcquireReply again = set.clock.answer(set.store.resume(request(owner).ballotSoFar(split.ballot()), ticket));
        assertThat(again).as("not refused permanently").isInstanceOf(AcquireReply.Refused.class);
        set.nodes.forEach(node -> node.answersItself("export"));
        set.pass(2_000);
        won(set.clock.answer(set.store.resume(request(owner).ballotSoFar(again.ballot()), ticket)));
    }

    /** If another claimant has a quorum, the ticket is used. */
    @Test
    void aQuorumOfAnotherClaimantUsesTheTicket() {
        exported();
        vote(0, "host/2/one");
        vote(1, "host/2/one");
        AcquireReply reply = resumed(set.owner());
        assertThat(reply).isInstanceOf(AcquireReply.Busy.class);
        assertThat(((AcquireReply.Busy) reply).holder().id()).isEqualTo("host/2/one");
    }

    /** Otherwise each refused request would stay in memory. */
    @Test
    void aRefusedClaimantIsForgotten() {
        NodeSet nodes = ScriptedSet.nodes(set.nodes, set.clock);
        OwnerToken owner = set.owner();
        QuorumResume votes = new QuorumResume(nodes, new NodeExports(nodes), NAME, owner, ticket);
        long claimNanos = nodes.settings().quarantineNanos();
        AcquireRequest tooLong =
                AcquireRequest.exclusive(ScriptedSet.NAMES, owner, "host/1/claimant", 2 * claimNanos, SECOND);
        AcquireReply reply = set.clock.answer(votes.ask(tooLong));
        assertThat(((AcquireReply.Failed) reply).kind()).isEqualTo(FailureKind.PERMANENT);
        set.pass(1);
        assertThat(votes.isForgotten(set.clock.nanoTime()))
                .as("it may ask again")
                .isFalse();
        assertThat(votes.isForgotten(set.clock.nanoTime() + 2 * claimNanos)).isTrue();
    }

    /** A node that lacks the resumed lease is repaired with a token above that of the lease. */
    @Test
    void aResumedLeaseIsRepairedAboveItsToken() {
        exported();
        Grant grant = won(resumed(set.owner()));
        set.nodes.get(2).memory.forceRelease(NAME, null).join();
        set.nodes.get(2).ballots.clear();
        assertThat(set.renewed(grant)).isInstanceOf(RenewReply.Renewed.class);
        set.pass(100);
        Ballot repair = QuorumSessionTest.last(set.nodes.get(2));
        assertThat(repair.candidate()).isGreaterThan(grant.tokens().last());
        assertThat(repair.request().owner()).isEqualTo(grant.owner());
        assertThat(holder(2).id()).isEqualTo("host/1/claimant");
    }

    /** Votes that have ended with the claim before the second round are no lease. */
    @Test
    void theClaimMayEndBetweenTheRounds() {
        exported();
        set.nodes.forEach(node -> node.delayNanos.put("resume", 800_000_000L));
        set.pass(29_500);
        AcquireReply reply = resumed(set.owner());
        assertThat(reply).isNotInstanceOf(AcquireReply.Granted.class);
        set.pass(2_000);
        assertThat(set.keeps(0) || set.keeps(1) || set.keeps(2)).isFalse();
    }

    @Test
    void aClosedStoreSendsNoFurtherCopy() {
        Grant grant = set.granted();
        set.nodes.forEach(node -> node.answers("export", new ExportReply.Failed(FailureKind.UNKNOWN, failure())));
        CompletableFuture<ExportReply> reply = exporting(grant);
        set.pass(10);
        set.store.close();
        assertThat(reply).isCompleted();
        int sent = set.nodes.get(0).exports.size();
        set.pass(5_000);
        assertThat(set.nodes.get(0).exports).hasSize(sent);
    }
}
