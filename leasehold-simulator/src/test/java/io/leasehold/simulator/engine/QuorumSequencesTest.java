package io.leasehold.simulator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.node.Birth;
import io.leasehold.node.NodeReply;
import io.leasehold.simulator.SimulatedNode;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.Grant;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.RenewReply;
import io.leasehold.testkit.virtual.ClockShape;
import io.leasehold.testkit.virtual.FaultyNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The sequences that break simpler quorums, one by one; if it is cheap, the simpler quorum breaks first. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class QuorumSequencesTest {

    private static final LockName LOCK = QuorumLab.LOCK;
    private static final long TTL = QuorumLab.TTL;
    private static final long TIMEOUT = QuorumLab.TIMEOUT;
    private static final Duration QUARANTINE = QuorumLab.QUARANTINE;

    private final QuorumLab lab = new QuorumLab();

    @Test
    void theLateYesOfAWonAttemptStays() {
        lab.servers(3);
        QuorumLab.Client client = lab.client("a");
        client.granted();
        lab.run(10_000);
        QuorumLab.delay(client.links.get(2), 60);
        Grant grant = client.granted();
        assertThat(lab.keptBy("a")).containsExactlyInAnyOrder(0, 1);
        lab.run(200);
        assertThat(lab.keptBy("a")).as("it joined the grant").containsExactlyInAnyOrder(0, 1, 2);
        lab.servers.get(0).forget();
        assertThat(client.renew(grant)).as("and counts").isInstanceOf(RenewReply.Renewed.class);
        lab.run(2_000);
        assertThat(client.renew(grant)).isInstanceOf(RenewReply.Renewed.class);
    }

    @Test
    void theLateYesOfALostAttemptLeavesNothing() {
        lab.servers(3);
        QuorumLab.Client holder = lab.client("holder");
        QuorumLab.Client loser = lab.client("loser");
        Grant grant = holder.granted();
        assertThat(loser.acquire()).isInstanceOf(AcquireReply.Busy.class);
        lab.servers.get(2).forceRelease(LOCK, null);
        QuorumLab.delay(loser.links.get(2), 80);
        assertThat(loser.acquire()).isInstanceOf(AcquireReply.Busy.class);
        lab.run(100);
        assertThat(lab.keptBy("loser"))
                .as("the late request took the free node")
                .containsExactly(2);
        lab.run(200);
        assertThat(lab.keptBy("loser")).as("and it was undone").isEmpty();
        assertThat(holder.release(grant)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(loser.acquire()).isInstanceOf(AcquireReply.Granted.class);
    }

    /** Counters per node: after partial grants a later owner gets a smaller number. Ballots do not. */
    @Test
    void tokensRiseThoughQuorumsShareOneNodeOnly() {
        lab.servers(5);
        int[] counters = new int[5];
        List<Integer> naive = new ArrayList<>();
        List<Long> ours = new ArrayList<>();
        int[][] quorums = {{0, 1, 2}, {0, 1, 2}, {2, 3, 4}, {0, 3, 4}, {4, 1, 2}};
        for (int[] quorum : quorums) {
            QuorumLab.Client client = lab.client("c" + ours.size());
            for (FaultyNode link : client.links) {
                link.refuseConnections();
            }
            int lowest = Integer.MAX_VALUE;
            for (int node : quorum) {
                client.links.get(node).acceptConnections();
                lowest = Math.min(lowest, ++counters[node]);
            }
            // The number of a client that counts with INCR: the one on which its quorum agrees.
            naive.add(lowest);
            Grant grant = client.granted();
            ours.add(grant.tokens().first());
            client.release(grant);
        }
        assertThat(naive)
                .as("the naive rule goes back")
                .isNotEqualTo(naive.stream().sorted().distinct().toList());
        assertThat(ours).isSorted().doesNotHaveDuplicates();
    }

    @Test
    void anyNumberOfNodesMayForget() {
        lab.servers(3);
        QuorumLab.Client holder = lab.client("holder");
        QuorumLab.Client other = lab.client("other");
        Grant grant = holder.granted();
        lab.servers.get(0).forget();
        lab.servers.get(1).forget();
        // Without the quarantine these two would form a quorum.
        assertThat(lab.keptBy("holder")).containsExactly(2);
        long start = lab.world.elapsedNanos();
        long validUntil = start + TTL;
        while (lab.world.elapsedNanos() < validUntil) {
            assertThat(other.acquire()).as("two hold").isNotInstanceOf(AcquireReply.Granted.class);
            lab.run(100);
        }
        lab.world.runFor(QUARANTINE);
        AcquireReply after = other.acquire();
        assertThat(after).isInstanceOf(AcquireReply.Granted.class);
        assertThat(((AcquireReply.Granted) after).grant().tokens().first())
                .isGreaterThan(grant.tokens().last());
    }

    /**
     * The birth is taken after the loss: a request that was in flight while the node lost its state has an old clock.
     */
    @Test
    void theBirthIsNeverTakenFromALateRequest() {
        lab.servers(3);
        QuorumLab.Client slow = lab.client("slow");
        slow.release(slow.granted());
        lab.run(5_000);
        slow.links.get(0).requests().stall();
        CompletableFuture<AcquireReply> asked = slow.ask(OwnerToken.draw(slow.process));
        lab.run(3_000);
        lab.servers.get(0).forget();
        long forgotten = lab.world.elapsedNanos();
        slow.links.get(0).requests().resume();
        lab.world.runUntilDone(asked);
        lab.run(100);
        // A node with the birth of that request would be 3 s old now, and its quarantine nearly over.
        assertThat(lab.propose(lab.servers.get(0), lab.membership(slow))).isInstanceOf(NodeReply.Unborn.class);
        slow.acquire();
        lab.run(100);
        NodeReply reply = lab.propose(lab.servers.get(0), lab.membership(slow));
        assertThat(reply).isInstanceOf(NodeReply.Quarantined.class);
        long left = ((NodeReply.Quarantined) reply).leftNanos();
        assertThat(left)
                .as("the rest of the quarantine")
                .isGreaterThanOrEqualTo(QUARANTINE.toNanos() - (lab.world.elapsedNanos() - forgotten) - 50_000_000L);
    }

    /** A birth that is late, or sent twice, fits no later life. */
    @Test
    void aBirthFitsOneLifeOnly() {
        lab.servers(3);
        QuorumLab.Client client = lab.client("a");
        SimulatedNode server = lab.servers.get(0);
        server.forget();
        NodeReply.Unborn first = (NodeReply.Unborn) lab.propose(server, lab.membership(client));
        server.forget();
        NodeReply.Unborn second = (NodeReply.Unborn) lab.propose(server, lab.membership(client));
        assertThat(second.nonce()).isNotEqualTo(first.nonce());
        Birth late = new Birth(first.nonce(), 1, client.store.configuration(), TIMEOUT);
        assertThat(server.birth(late).join()).isInstanceOf(NodeReply.Refused.class);
        Birth right = new Birth(second.nonce(), 1, client.store.configuration(), TIMEOUT);
        assertThat(server.birth(right).join()).isInstanceOf(NodeReply.Stale.class);
        assertThat(server.birth(right).join()).isInstanceOf(NodeReply.Refused.class);
    }

    @Test
    void aNodeThatLostTheKeyGetsItBackAfterARenewal() {
        lab.servers(5);
        QuorumLab.Client client = lab.client("a");
        Grant grant = client.granted();
        lab.run(10);
        lab.servers.get(3).forceRelease(LOCK, null);
        lab.servers.get(4).forceRelease(LOCK, null);
        assertThat(lab.keptBy("a")).containsExactlyInAnyOrder(0, 1, 2);
        assertThat(client.renew(grant)).isInstanceOf(RenewReply.Renewed.class);
        lab.run(20);
        assertThat(lab.keptBy("a")).as("repaired").hasSize(5);
        lab.servers.get(0).forceRelease(LOCK, null);
        lab.servers.get(1).forceRelease(LOCK, null);
        assertThat(client.renew(grant)).as("the repaired nodes count").isInstanceOf(RenewReply.Renewed.class);
        assertThat(client.release(grant)).isInstanceOf(ReleaseReply.Released.class);
        lab.run(20);
        assertThat(lab.keptBy("a")).as("released at the repaired nodes too").isEmpty();
        assertThat(lab.client("b").acquire())
                .as("the fence knows the ballots of the repairs")
                .isInstanceOf(AcquireReply.Granted.class);
    }

    @Test
    void aLostLockIsNeverReCreated() {
        lab.servers(5);
        QuorumLab.Client client = lab.client("a");
        Grant grant = client.granted();
        lab.run(10);
        for (int node = 0; node < 3; node++) {
            lab.servers.get(node).forceRelease(LOCK, null);
        }
        assertThat(client.renew(grant)).isInstanceOf(RenewReply.NotOurs.class);
        lab.run(1_000);
        assertThat(lab.keptBy("a")).as("nothing was repaired").containsExactlyInAnyOrder(3, 4);
    }

    /** A late reply does not repair a released lock. */
    @Test
    void aRepairNeverBringsBackAReleasedLock() {
        lab.servers(3);
        QuorumLab.Client client = lab.client("a");
        Grant grant = client.granted();
        lab.run(10);
        lab.servers.get(2).forceRelease(LOCK, null);
        QuorumLab.delay(client.links.get(2), 50);
        client.renew(grant);
        assertThat(client.release(grant)).isInstanceOf(ReleaseReply.Released.class);
        lab.run(1_000);
        assertThat(lab.keptBy("a")).isEmpty();
    }

    @Test
    void aReleaseReachesNodesThatNeverAnswered() {
        lab.servers(3);
        QuorumLab.Client client = lab.client("a");
        client.release(client.granted());
        lab.run(100);
        client.links.get(2).requests().stall();
        Grant grant = client.granted();
        assertThat(client.release(grant)).isInstanceOf(ReleaseReply.Released.class);
        client.links.get(2).requests().resume();
        lab.run(500);
        assertThat(lab.keptBy("a")).as("the late acquire lost to the release").isEmpty();
    }

    @Test
    void aNodeWhoseClockJumpedHasNoVote() {
        lab.servers(3);
        QuorumLab.Client client = lab.client("a");
        client.release(client.granted());
        lab.run(500);
        client.links.get(2).refuseConnections();
        lab.servers.get(1).host().monotonicRate(1.3);
        lab.run(500);
        lab.servers.get(1).host().monotonicRate(1.0);
        AcquireReply reply = client.acquire();
        assertThat(reply).isInstanceOf(AcquireReply.Failed.class);
        assertThat(reply.votes().toString()).contains("its clock jumped");
        lab.run(4_000);
        client.release(client.granted());
    }

    /** A client's wall clock is wrong by an hour, and is set while it holds: nothing that others see depends on it. */
    @Test
    void theWallClockOfAClientHasNoInfluence() {
        lab.servers(3);
        QuorumLab.Client ahead = lab.client("ahead");
        QuorumLab.Client behind = lab.client("behind");
        ahead.process.wallClock(new ClockShape.Step(Duration.ofHours(1)));
        behind.process.wallClock(new ClockShape.Step(Duration.ofHours(-1)));
        long last = 0;
        for (QuorumLab.Client client : List.of(ahead, behind, ahead)) {
            Grant grant = client.granted();
            long nodes = lab.servers.get(0).host().wallMillis() * 1_000;
            assertThat(grant.tokens().first())
                    .as("a token near the nodes' clocks, and above the one before")
                    .isBetween(Math.max(last + 1, nodes - 1_000_000), nodes + 1_000_000);
            last = grant.tokens().last();
            client.process.wallClock(new ClockShape.Step(Duration.ofHours(3)));
            lab.run(1_500);
            assertThat(client.renew(grant)).isInstanceOf(RenewReply.Renewed.class);
            lab.run(2_000);
            assertThat(lab.client("third").acquire()).as("held on").isInstanceOf(AcquireReply.Busy.class);
            assertThat(client.release(grant)).isInstanceOf(ReleaseReply.Released.class);
        }
    }
}
