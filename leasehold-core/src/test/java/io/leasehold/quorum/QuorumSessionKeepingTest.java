package io.leasehold.quorum;

import static io.leasehold.quorum.ScriptedSet.MILLI;
import static io.leasehold.quorum.ScriptedSet.NAME;
import static io.leasehold.quorum.ScriptedSet.NAMES;
import static io.leasehold.quorum.ScriptedSet.SECOND;
import static io.leasehold.quorum.ScriptedSet.TTL;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of a hold over a quorum: its renewal, its repair at single nodes, its loss and its end. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class QuorumSessionKeepingTest {

    private static final LockName OTHER = LockName.exactly("other");

    private final ScriptedSet set = new ScriptedSet(3);

    private void forget(int node, Grant grant) {
        set.nodes
                .get(node)
                .memory
                .release(new ReleaseRequest(NAMES, grant.owner(), 0, ReleaseRequest.Kind.UNDO, SECOND));
    }

    private RenewReply.Item only(CompletableFuture<RenewReply> renewed) {
        return set.clock.answer(renewed).items().get(0);
    }

    // ---- renewing

    @Test
    void aRenewalCountsFromItsSendingAndWaitsTheNodeTimeoutForTheOthers() {
        Grant grant = set.granted();
        set.pass(1_000);
        long before = set.clock.nanoTime();
        assertThat(set.renewed(grant)).isEqualTo(new RenewReply.Renewed(before));
        assertThat(set.clock.armed()).as("no time limit is left behind").isZero();
        set.nodes.get(0).answers("renew", ScriptedNode.SILENCE);
        set.nodes.get(1).answers("renew", ScriptedNode.SILENCE);
        RenewReply.Item silent = set.renewed(grant);
        assertThat(set.clock.nanoTime() - before).isEqualTo(50 * MILLI);
        assertThat(silent)
                .isInstanceOfSatisfying(
                        RenewReply.Failed.class,
                        failed -> assertThat(failed.error())
                                .hasMessageContaining("renewal of [n] found no quorum of 2 of 3 nodes; ")
                                .hasMessageContaining("has not answered in time"));
        assertThat(((RenewReply.Failed) silent).votes()).hasSize(3);
        CompletableFuture<RenewReply> patient = set.store.renew(
                new RenewBatch(List.of(new RenewBatch.Item(NAME, grant.owner(), TTL, 90 * MILLI)), SECOND));
        long began = set.clock.nanoTime();
        set.clock.answer(patient);
        assertThat(set.clock.nanoTime() - began).as("a time of its own").isEqualTo(90 * MILLI);
        CompletableFuture<RenewReply> hasty = set.store.renew(
                new RenewBatch(List.of(new RenewBatch.Item(NAME, grant.owner(), TTL, 90 * MILLI)), 30 * MILLI));
        began = set.clock.nanoTime();
        set.clock.answer(hasty);
        assertThat(set.clock.nanoTime() - began).as("at most that of the batch").isEqualTo(30 * MILLI);
        assertThat(set.clock.armed()).isZero();
    }

    @Test
    void aRenewalThatAQuorumDeniesIsALoss() {
        Grant grant = set.granted();
        forget(0, grant);
        forget(1, grant);
        assertThat(set.renewed(grant))
                .isInstanceOfSatisfying(
                        RenewReply.NotOurs.class,
                        lost -> assertThat(lost.votes()).hasSize(3));
    }

    @Test
    void anotherRenewalAnswersTheOneBefore() {
        Grant grant = set.granted();
        set.nodes.forEach(node -> node.delayNanos.put("renew", 10 * MILLI));
        CompletableFuture<RenewReply> first = set.renewing(grant);
        CompletableFuture<RenewReply> second = set.renewing(grant);
        assertThat(only(first))
                .isInstanceOfSatisfying(
                        RenewReply.Failed.class,
                        failed -> assertThat(failed.error())
                                .hasMessageContaining("another renewal of [n] began before this one was answered"));
        assertThat(only(second)).isInstanceOf(RenewReply.Renewed.class);
    }

    /** Two renewals of one lock, the first of them with another lock whose nodes do not answer. */
    @Test
    void theTimeOfAnEarlierRenewalEndsNoLaterOne() {
        Grant grant = set.granted();
        LockName other = LockName.exactly("other");
        OwnerToken silent = set.owner();
        set.nodes.forEach(node -> node.answers("renew", ScriptedNode.SILENCE));
        set.store.renew(new RenewBatch(
                List.of(
                        new RenewBatch.Item(NAME, grant.owner(), TTL, 100 * MILLI),
                        new RenewBatch.Item(other, silent, TTL, 100 * MILLI)),
                SECOND));
        set.nodes.forEach(node -> node.answersItself("renew"));
        set.nodes.forEach(node -> node.delayNanos.put("renew", 110 * MILLI));
        set.pass(10);
        CompletableFuture<RenewReply> later = set.store.renew(
                new RenewBatch(List.of(new RenewBatch.Item(NAME, grant.owner(), TTL, 200 * MILLI)), SECOND));
        set.pass(100);
        assertThat(later).as("the first one's time is over").isNotDone();
        assertThat(only(later)).isInstanceOf(RenewReply.Renewed.class);
    }

    @Test
    void anAnswerToAnEarlierRenewalDecidesNoLaterOne() {
        Grant grant = set.granted();
        set.nodes.forEach(node -> node.answers("renew", new RenewReply(List.of(new RenewReply.NotOurs()))));
        set.nodes.forEach(node -> node.delayNanos.put("renew", 20 * MILLI));
        set.renewing(grant);
        set.pass(10);
        set.nodes.forEach(node -> node.answers("renew", ScriptedNode.SILENCE));
        CompletableFuture<RenewReply> later = set.renewing(grant);
        set.pass(20);
        assertThat(later).isNotDone();
        assertThat(only(later)).isInstanceOf(RenewReply.Failed.class);
    }

    @Test
    void aRenewalOfWhatEndsMeanwhileIsAnsweredAtItsTime() {
        Grant grant = set.granted();
        set.nodes.forEach(node -> node.answers("renew", ScriptedNode.SILENCE));
        CompletableFuture<RenewReply> renewed = set.renewing(grant);
        set.pass(10);
        assertThat(set.released(grant)).isInstanceOf(ReleaseReply.Released.class);
        set.pass(39);
        assertThat(renewed).isNotDone();
        set.pass(1);
        assertThat(renewed).isDone();
        assertThat(only(renewed)).isInstanceOf(RenewReply.NotOurs.class);
    }

    @Test
    void whatIsNotKnownIsAskedOfTheNodes() {
        RenewReply.Item unknown =
                only(set.store.renew(new RenewBatch(List.of(new RenewBatch.Item(NAME, set.owner(), TTL)), SECOND)));
        assertThat(unknown).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(set.store.remembered()).isZero();
    }

    @Test
    void eachOfABatchHasItsOwnAnswer() {
        Grant grant = set.granted();
        RenewReply reply = set.clock.answer(set.store.renew(new RenewBatch(
                List.of(
                        new RenewBatch.Item(NAME, set.owner(), TTL),
                        new RenewBatch.Item(NAME, grant.owner(), TTL),
                        new RenewBatch.Item(NAME, set.owner(), TTL)),
                SECOND)));
        assertThat(reply.items())
                .hasExactlyElementsOfTypes(
                        RenewReply.NotOurs.class, RenewReply.Renewed.class, RenewReply.NotOurs.class);
        assertThat(set.nodes.get(0).renewals).as("one request for all").hasSize(1);
    }

    // ---- repairing

    @Test
    void aNodeThatLostTheKeyIsProposedAHigherBallotOfTheSameOwner() {
        Grant grant = set.granted();
        forget(2, grant);
        set.pass(2_000);
        assertThat(set.renewed(grant)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(set.keeps(2)).isTrue();
        Ballot repair = QuorumSessionTest.last(set.nodes.get(2));
        assertThat(repair.request().owner()).isEqualTo(grant.owner());
        assertThat(repair.candidate()).isGreaterThan(grant.tokens().last());
        assertThat(repair.request().isWaiting()).isFalse();
        set.released(grant);
        assertThat(set.nodes.get(0).ends.get(0).ballot())
                .as("the end stops the repair's ballot as well")
                .isEqualTo(repair.candidate());
    }

    @Test
    void aRepairBeatsTheFloorThatItWasTold() {
        Grant grant = set.granted();
        forget(2, grant);
        long ahead = set.clock.wallMillis() * 1_000 + 3_000_000;
        set.nodes
                .get(2)
                .memory
                .release(new ReleaseRequest(NAMES, set.owner(), ahead, ReleaseRequest.Kind.UNDO, SECOND));
        set.nodes.get(2).ballots.clear();
        assertThat(set.renewed(grant)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(set.nodes.get(2).ballots)
                .extracting(Ballot::candidate)
                .hasSize(2)
                .contains(ahead + 1);
        assertThat(set.keeps(2)).isTrue();
    }

    /** The clock of node 2 was set forward by this much while the client had no lock; the next ballot shows it. */
    private Grant grantedWithoutTheNodeAhead(long aheadMicros) {
        set.granted();
        set.nodes
                .get(2)
                .instead
                .put(
                        "acquire",
                        () -> new NodeReply.Stale(
                                nowMicros() + aheadMicros - 60_000_000,
                                new Incarnation("life"),
                                nowMicros() + aheadMicros));
        OwnerToken owner = set.owner();
        Grant grant = set.granted(AcquireRequest.exclusive(List.of(OTHER), owner, "host/1/x", TTL, SECOND));
        set.nodes.get(2).ballots.clear();
        return grant;
    }

    private long nowMicros() {
        return set.clock.wallMillis() * 1_000;
    }

    private void isReleasedForOthers(Grant grant) {
        ReleaseReply released = set.clock.answer(set.store.release(new ReleaseRequest(
                List.of(OTHER), grant.owner(), grant.tokens().last(), ReleaseRequest.Kind.RELEASE, SECOND)));
        assertThat(released).isInstanceOf(ReleaseReply.Released.class);
        assertThat(set.nodes.get(0).ends)
                .extracting(ReleaseRequest::ballot)
                .as("no fence is raised above what was proposed")
                .containsExactly(grant.tokens().last());
        set.granted(AcquireRequest.exclusive(List.of(OTHER), set.owner(), "host/2/y", TTL, SECOND));
    }

    private RenewReply.Item renewedOther(Grant grant) {
        return only(set.store.renew(new RenewBatch(List.of(new RenewBatch.Item(OTHER, grant.owner(), TTL)), SECOND)));
    }

    /** An hour ahead: far beyond the bound, so that each copy of a release above it would raise the fences further. */
    @Test
    void aNodeWhoseClockRanAheadIsNotRepairedAndDoesNotRaiseTheEndOfOthers() {
        Grant grant = grantedWithoutTheNodeAhead(3_600_000_000L);
        assertThat(renewedOther(grant)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(set.nodes.get(2).ballots).isEmpty();
        isReleasedForOthers(grant);
    }

    /** Its floor is within the bound, but its clock has jumped, so the repair is not sent. */
    @Test
    void aRepairThatIsWithheldDoesNotRaiseTheEnd() {
        Grant grant = grantedWithoutTheNodeAhead(65_000_000L);
        assertThat(renewedOther(grant)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(set.nodes.get(2).ballots).isEmpty();
        isReleasedForOthers(grant);
    }

    @Test
    void aRepairIsTriedThreeTimesAndAgainAfterTheNextRenewal() {
        Grant grant = set.granted();
        forget(2, grant);
        set.nodes.get(2).ballots.clear();
        set.nodes
                .get(2)
                .instead
                .put(
                        "acquire",
                        () -> new NodeReply.Stale(
                                QuorumSessionTest.last(set.nodes.get(2)).candidate() + 1_000,
                                new Incarnation("life"),
                                set.clock.wallMillis() * 1_000));
        assertThat(set.renewed(grant)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(set.nodes.get(2).ballots).hasSize(3);
        assertThat(set.renewed(grant)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(set.nodes.get(2).ballots).hasSize(6);
        set.nodes.get(2).answers("acquire", ScriptedSet.failed(FailureKind.UNKNOWN));
        set.renewed(grant);
        set.nodes.get(2).answersItself("acquire");
        set.renewed(grant);
        assertThat(set.keeps(2)).as("a repair that failed is not the last").isTrue();
    }

    @Test
    void nothingIsRepairedWhereTheHoldIsNoLongerValid() {
        Grant grant = set.granted();
        forget(2, grant);
        set.nodes.get(2).ballots.clear();
        long validity = QuorumSettings.validityNanos(TTL);
        set.nodes.get(2).delayNanos.put("renew", validity);
        long sentAtNanos = set.clock.nanoTime();
        assertThat(set.renewed(grant)).isEqualTo(new RenewReply.Renewed(sentAtNanos));
        set.clock.pass(java.time.Duration.ofNanos(validity));
        assertThat(set.nodes.get(2).ballots)
                .as("its answer comes when the validity ends")
                .isEmpty();

        ScriptedSet other = new ScriptedSet(3);
        Grant valid = other.granted();
        other.nodes
                .get(2)
                .memory
                .release(new ReleaseRequest(NAMES, valid.owner(), 0, ReleaseRequest.Kind.UNDO, SECOND));
        other.nodes.get(2).ballots.clear();
        other.nodes.get(2).delayNanos.put("renew", validity - 1);
        other.renewed(valid);
        other.clock.pass(java.time.Duration.ofNanos(validity));
        assertThat(other.nodes.get(2).ballots).as("just before").hasSize(1);
    }

    @Test
    void nothingIsRepairedAfterTheEnd() {
        Grant grant = set.granted();
        forget(2, grant);
        set.nodes.get(2).ballots.clear();
        set.nodes.get(2).delayNanos.put("renew", 10 * MILLI);
        assertThat(set.renewed(grant)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(set.released(grant)).isInstanceOf(ReleaseReply.Released.class);
        set.pass(100);
        assertThat(set.nodes.get(2).ballots).isEmpty();
    }

    // ---- signals of nodes

    @Test
    void aLossCountsOnlyOfTheOwnerTokenThatIsHeld() {
        OwnerToken rival = set.rival(0, 1);
        OwnerToken first = set.owner();
        assertThat(set.ask(set.request(first).waiting(3 * SECOND))).isInstanceOf(AcquireReply.Queued.class);
        for (int node = 0; node < 2; node++) {
            set.nodes
                    .get(node)
                    .memory
                    .release(new ReleaseRequest(NAMES, rival, 0, ReleaseRequest.Kind.RELEASE, SECOND));
        }
        Grant grant = set.granted(set.request(first).waiting(3 * SECOND));
        set.nodes.forEach(node -> node.ear.lost(first, LossCause.FORCE_RELEASED));
        assertThat(set.lost).as("it was given up before").isEmpty();
        set.nodes.get(0).ear.lost(grant.owner(), LossCause.FORCE_RELEASED);
        assertThat(set.lost).isEmpty();
        set.nodes.get(1).ear.lost(grant.owner(), LossCause.FORCE_RELEASED);
        assertThat(set.lost).containsExactly(LossCause.FORCE_RELEASED);
        OwnerToken other = set.owner();
        set.granted(AcquireRequest.exclusive(List.of(OTHER), other, "host/1/x", TTL, SECOND));
        set.nodes.forEach(node -> node.ear.lost(other, LossCause.SESSION_LOST));
        assertThat(set.lost).as("with its cause").contains(LossCause.SESSION_LOST);
    }

    /** Each lock of a batch may have its own time limit; all limits end with the answer. */
    @Test
    void aBatchThatIsAnsweredLeavesNoTimeLimit() {
        Grant one = set.granted();
        Grant other = set.granted(AcquireRequest.exclusive(List.of(OTHER), set.owner(), "host/1/x", TTL, SECOND));
        int armed = set.clock.armed();
        RenewReply reply = set.clock.answer(set.store.renew(new RenewBatch(
                List.of(
                        new RenewBatch.Item(NAME, one.owner(), TTL, 20 * MILLI),
                        new RenewBatch.Item(OTHER, other.owner(), TTL, 70 * MILLI)),
                SECOND)));
        assertThat(reply.items()).hasOnlyElementsOfType(RenewReply.Renewed.class);
        assertThat(set.clock.armed()).isEqualTo(armed);
    }

    // ---- ending

    @Test
    void anEndRepeatsForAsLongAsANodeMayKeepTheKey() {
        Grant grant = set.granted();
        set.nodes.get(2).answers("release", ScriptedSet.unreleased(FailureKind.UNKNOWN));
        long before = set.clock.nanoTime();
        assertThat(set.released(grant)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(set.store.remembered())
                .as("until the third node has answered")
                .isEqualTo(1);
        set.pass(60_000);
        List<Long> at = set.nodes.get(2).endsAtNanos;
        long until = TTL + TTL / 100 + 2 * MILLI;
        assertThat(at.get(at.size() - 1) - before).isEqualTo(until);
        assertThat(set.store.remembered()).isZero();
        assertThat(set.clock.armed()).isZero();
    }

    @Test
    void theEndOfWhatIsNotKnownRepeatsForTheLargestTtl() {
        set.nodes.get(2).answers("release", ScriptedSet.unreleased(FailureKind.UNKNOWN));
        long before = set.clock.nanoTime();
        set.releasing(set.owner(), 5, ReleaseRequest.Kind.UNDO);
        set.pass(60_000);
        List<Long> at = set.nodes.get(2).endsAtNanos;
        assertThat(at.get(at.size() - 1) - before).isEqualTo(30 * SECOND + 300 * MILLI + 2 * MILLI);
        assertThat(set.nodes.get(0).ends.get(0).ballot()).isEqualTo(5);
    }

    @Test
    void whatIsReleasedTwiceWasNotOursTheSecondTime() {
        Grant grant = set.granted();
        assertThat(set.released(grant)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(set.released(grant)).as("nothing was left").isInstanceOf(ReleaseReply.NotOurs.class);
    }

    @Test
    void whoReleasesWhatOthersAwaitLetsThemGoFirstForTwoRounds() {
        set.nodes.forEach(node -> node.delayNanos.put("acquire", 16 * MILLI));
        Grant grant = set.granted();
        set.nodes.forEach(node -> node.delayNanos.clear());
        set.pass(1);
        set.released(grant);
        long before = beforeTheNextBallot();
        Grant again = set.granted();
        assertThat(firstBallotSince(before)).as("no thread waited for it").isZero();
        set.nodes.forEach(node -> node.answers("release", new ReleaseReply.Released(List.of(), true)));
        set.released(again);
        set.nodes.forEach(node -> node.answersItself("release"));
        set.nodes.forEach(node -> node.memory.forceRelease(NAME, null));
        before = beforeTheNextBallot();
        set.granted();
        // One round of 16 ms and one of 0 in the average of eight that began at 2 ms.
        long round = 2 * MILLI + 14 * MILLI / 8;
        assertThat(firstBallotSince(before)).isEqualTo(2 * (round + (1 - round) / 8));
    }

    private long beforeTheNextBallot() {
        set.nodes.forEach(node -> node.ballotsAtNanos.clear());
        return set.clock.nanoTime();
    }

    private long firstBallotSince(long atNanos) {
        return set.nodes.get(0).ballotsAtNanos.get(0) - atNanos;
    }

    @Test
    void aRequestOfLittlePatienceIsNotHeldUp() {
        Grant grant = set.granted();
        set.nodes.forEach(node -> node.answers("release", new ReleaseReply.Released(List.of(), true)));
        set.released(grant);
        set.nodes.forEach(node -> node.ballotsAtNanos.clear());
        long before = set.clock.nanoTime();
        set.store.acquire(io.leasehold.spi.AcquireRequest.exclusive(NAMES, set.owner(), "host/1/x", TTL, 10 * MILLI));
        assertThat(set.nodes.get(0).ballotsAtNanos).startsWith(before);
    }
}
