package io.leasehold.simulator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.Ballot;
import io.leasehold.node.Birth;
import io.leasehold.node.LockNode;
import io.leasehold.node.Membership;
import io.leasehold.node.NodeReply;
import io.leasehold.node.PassingNode;
import io.leasehold.simulator.SimulatedNode;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Grant;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The schedules that break simpler quorums: each runs first against the simpler rule, by hand, and breaks it; then
 * against Leasehold.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class NaiveQuorumTest {

    private static final long SECOND = 1_000_000_000L;

    private final QuorumLab lab = new QuorumLab();

    private OwnerToken owner() {
        return OwnerToken.draw(lab.world.process("drawn"));
    }

    private static AcquireRequest request(OwnerToken owner, String who, long ttlNanos) {
        return AcquireRequest.exclusive(List.of(QuorumLab.LOCK), owner, "host/1/" + who, ttlNanos, QuorumLab.TIMEOUT);
    }

    /** Simulates a plain {@code SET NX PX}; returns true if the owner has the lock now. */
    private boolean takes(LockNode node, OwnerToken owner, String who) {
        return node.acquire(new Ballot(request(owner, who, QuorumLab.TTL), micros(), 1))
                        .join()
                instanceof NodeReply.Yes;
    }

    private long micros() {
        return lab.servers.get(0).host().wallMillis() * 1_000;
    }

    /** Simulates a plain compare-and-delete. */
    private static void deletes(LockNode node, OwnerToken owner) {
        node.release(end(owner, 0)).join();
    }

    private static ReleaseRequest end(OwnerToken owner, long ballot) {
        return new ReleaseRequest(List.of(QuorumLab.LOCK), owner, ballot, ReleaseRequest.Kind.UNDO, QuorumLab.TIMEOUT);
    }

    private static boolean renews(LockNode node, OwnerToken owner) {
        return node.renew(new RenewBatch(
                                List.of(new RenewBatch.Item(QuorumLab.LOCK, owner, QuorumLab.TTL)), QuorumLab.TIMEOUT))
                        .join()
                        .items()
                        .get(0)
                instanceof RenewReply.Renewed;
    }

    /** Rule: "a yes that comes too late is undone", even if the attempt was won. */
    @Test
    void theLateYesOfAWonAttempt() {
        lab.servers(3);
        OwnerToken naive = owner();
        assertThat(takes(lab.servers.get(0), naive, "naive")).isTrue();
        assertThat(takes(lab.servers.get(1), naive, "naive")).isTrue();
        // The attempt is won; the third yes is late, and its undo is in flight while a renewal finds the key at 1 and
        // 2.
        assertThat(takes(lab.servers.get(2), naive, "naive")).isTrue();
        lab.run(2_000);
        assertThat(renews(lab.servers.get(1), naive)).isTrue();
        assertThat(renews(lab.servers.get(2), naive)).isTrue();
        long naiveUntil = lab.world.elapsedNanos() + QuorumLab.TTL * 98 / 100;
        deletes(lab.servers.get(2), naive);
        lab.run(1_100);
        OwnerToken rival = owner();
        assertThat(takes(lab.servers.get(0), rival, "rival")).isTrue();
        assertThat(takes(lab.servers.get(2), rival, "rival")).isTrue();
        assertThat(lab.world.elapsedNanos()).as("two hold").isLessThan(naiveUntil);

        QuorumLab ours = new QuorumLab();
        ours.servers(3);
        QuorumLab.Client client = ours.client("ours");
        client.release(client.granted());
        ours.run(100);
        QuorumLab.delay(client.links.get(2), 60);
        Grant grant = client.granted();
        ours.run(2_000);
        client.links.get(0).refuseConnections();
        assertThat(client.renew(grant)).isInstanceOf(RenewReply.Renewed.class);
        ours.run(1_100);
        QuorumLab.Client other = ours.client("other");
        assertThat(other.acquire()).isNotInstanceOf(AcquireReply.Granted.class);
        assertThat(ours.keptBy("ours")).containsExactlyInAnyOrder(1, 2);
    }

    /** Rule: "the key is already mine" is a yes, whatever ballot it answers and without raising the fence to that. */
    @Test
    void ownKeysThatRaiseNoFence() {
        lab.servers(1);
        InMemoryNode node = new InMemoryNode(lab.servers.get(0).host());
        assertThat(secondBallotThenRival(new OwnIsYes(node), lab.servers.get(0).host()))
                .as("the naive rule lets a later owner have a smaller token")
                .isInstanceOf(NodeReply.Yes.class);

        QuorumLab ours = new QuorumLab();
        ours.servers(1);
        assertThat(secondBallotThenRival(
                        new InMemoryNode(ours.servers.get(0).host()),
                        ours.servers.get(0).host()))
                .isInstanceOf(NodeReply.Stale.class);
    }

    /** One owner sends a second, higher ballot; its key ends; then a rival proposes a number in between. */
    private NodeReply secondBallotThenRival(LockNode node, VirtualRuntime host) {
        OwnerToken first = OwnerToken.draw(host);
        long shortTtl = SECOND / 5;
        long now = host.wallMillis() * 1_000;
        long second = now + 700_000;
        assertThat(node.acquire(new Ballot(request(first, "first", shortTtl), now, 1))
                        .join())
                .isInstanceOf(NodeReply.Yes.class);
        assertThat(node.acquire(new Ballot(request(first, "first", shortTtl), second, 1))
                        .join())
                .isInstanceOf(NodeReply.Yes.class);
        host.world().runFor(Duration.ofMillis(300));
        long smaller = host.wallMillis() * 1_000;
        assertThat(smaller).isLessThan(second);
        return node.acquire(new Ballot(request(OwnerToken.draw(host), "rival", shortTtl), smaller, 1))
                .join();
    }

    private static final class OwnIsYes extends PassingNode {
        private final LockNode node;
        private OwnerToken owner;

        OwnIsYes(LockNode node) {
            super(node);
            this.node = node;
        }

        @Override
        public CompletableFuture<NodeReply> acquire(Ballot ballot) {
            if (ballot.request().owner().equals(owner)) {
                return node.probe(0).thenApply(reply -> {
                    NodeReply.Stale clock = (NodeReply.Stale) reply;
                    return new NodeReply.Yes(clock.incarnation(), clock.serverMicros());
                });
            }
            owner = ballot.request().owner();
            return node.acquire(ballot);
        }
    }

    /**
     * Rule: "free is free": any request for a free key is granted, even an acquire or a repair from before the release.
     */
    @Test
    void lateCopiesAfterTheRelease() {
        assertThat(keptAfterLateCopies(true))
                .as("a plain SET NX brings the released lock back")
                .isNotEmpty();
        assertThat(keptAfterLateCopies(false)).isEmpty();
    }

    /**
     * Holds, is repaired at two nodes, and releases; then every ballot that was ever sent arrives once more, at every
     * node.
     */
    private static List<Integer> keptAfterLateCopies(boolean unfenced) {
        QuorumLab world = new QuorumLab();
        List<Ballot> sent = new ArrayList<>();
        List<Membership> memberships = new ArrayList<>();
        world.servers(5, node -> new PassingNode(unfenced ? new Unfenced(node) : node) {
            @Override
            public CompletableFuture<NodeReply> acquire(Ballot ballot, Membership membership) {
                sent.add(ballot);
                memberships.add(membership);
                return super.acquire(ballot, membership);
            }
        });
        QuorumLab.Client client = world.client("late");
        Grant grant = client.granted();
        world.run(10);
        world.servers.get(3).forceRelease(QuorumLab.LOCK, null);
        world.servers.get(4).forceRelease(QuorumLab.LOCK, null);
        client.renew(grant);
        world.run(50);
        assertThat(sent).as("five votes and two repairs").hasSizeGreaterThanOrEqualTo(7);
        assertThat(client.release(grant)).isInstanceOf(ReleaseReply.Released.class);
        world.run(50);
        for (int copy = sent.size() - 1; copy >= 0; copy--) {
            for (SimulatedNode server : world.servers) {
                server.acquire(sent.get(copy), memberships.get(copy)).join();
            }
        }
        return List.copyOf(world.keptBy("late"));
    }

    /** Grants a free key to any ballot, raising a stale one. */
    private static final class Unfenced extends PassingNode {
        private final LockNode node;

        Unfenced(LockNode node) {
            super(node);
            this.node = node;
        }

        @Override
        public CompletableFuture<NodeReply> acquire(Ballot ballot, Membership membership) {
            return node.acquire(ballot, membership).thenCompose(reply -> {
                if (!(reply instanceof NodeReply.Stale stale)) {
                    return CompletableFuture.completedFuture(reply);
                }
                Ballot raised = new Ballot(ballot.request(), stale.floor() + 1, ballot.reserve());
                return node.acquire(raised, membership);
            });
        }
    }

    /** Rule: each node hands its key to its own first waiter. */
    @Test
    void handOverByEachNode() {
        lab.servers(3);
        List<InMemoryNode> nodes = new ArrayList<>();
        List<OwnerToken> owners = new ArrayList<>();
        OwnerToken holder = owner();
        for (int node = 0; node < 3; node++) {
            nodes.add(new InMemoryNode(lab.servers.get(node).host()));
            owners.add(owner());
            assertThat(takes(nodes.get(node), holder, "holder")).isTrue();
        }
        // The requests of three waiters reach each node in a different order.
        for (int node = 0; node < 3; node++) {
            for (int turn = 0; turn < 3; turn++) {
                int waiter = (node + turn) % 3;
                AcquireRequest wanted = request(owners.get(waiter), "waiter-" + waiter, QuorumLab.TTL)
                        .waiting(3 * SECOND)
                        .claiming(3 * SECOND);
                nodes.get(node).acquire(new Ballot(wanted, micros() + 100 + waiter, 1, wanted.claimNanos()));
            }
            nodes.get(node).release(end(holder, micros())).join();
        }
        List<String> next = nodes.stream()
                .map(node -> node.admin().describe(QuorumLab.LOCK).join())
                .flatMap(Optional::stream)
                .map(record -> record.holder().id())
                .toList();
        assertThat(next)
                .as("each node has chosen another one: nobody has a quorum")
                .doesNotHaveDuplicates();
        assertThat(next).hasSize(3);

        QuorumLab ours = new QuorumLab();
        ours.servers(3);
        QuorumLab.Client first = ours.client("first");
        Grant grant = first.granted();
        List<QuorumLab.Client> waiters = List.of(ours.client("w0"), ours.client("w1"), ours.client("w2"));
        for (int waiter = 0; waiter < 3; waiter++) {
            for (int node = 0; node < 3; node++) {
                QuorumLab.delay(waiters.get(waiter).links.get(node), 1 + (node + 3 - waiter) % 3);
            }
            waiters.get(waiter).wait(OwnerToken.draw(waiters.get(waiter).process));
        }
        ours.run(100);
        first.release(grant);
        ours.run(50);
        int winners = 0;
        for (int tries = 0; tries < 20 && winners == 0; tries++) {
            for (QuorumLab.Client waiter : waiters) {
                winners += winners == 0 && waiter.acquire() instanceof AcquireReply.Granted ? 1 : 0;
            }
        }
        assertThat(winners).as("the nodes are free, and one of them wins").isEqualTo(1);
    }

    /** Rule: a server that has run long enough, or whose connections live, has lost nothing. */
    @Test
    void uptimeIsNoMemory() {
        lab.servers(3);
        QuorumLab.Client holder = lab.client("holder");
        holder.granted();
        lab.servers.get(0).forget();
        lab.servers.get(1).forget();
        OwnerToken rival = owner();
        assertThat(takes(lab.servers.get(0), rival, "rival") && takes(lab.servers.get(1), rival, "rival"))
                .as("two hold")
                .isTrue();

        QuorumLab ours = new QuorumLab();
        ours.servers(3);
        ours.client("holder").granted();
        ours.servers.get(0).forget();
        ours.servers.get(1).forget();
        QuorumLab.Client other = ours.client("other");
        for (int i = 0; i < 25; i++) {
            assertThat(other.acquire()).isNotInstanceOf(AcquireReply.Granted.class);
            ours.run(100);
        }
    }

    /** Rules: the birth is the clock in the request that found no marker, or the restarted server's own clock. */
    @Test
    void birthsThatLieTooEarly() {
        assertThat(grantsWhileTheLeaseLives(Duration.ofSeconds(4)))
                .as("a clock from a request that was under way while the node forgot")
                .isTrue();
        assertThat(grantsWhileTheLeaseLives(Duration.ofHours(1)))
                .as("the clock of a machine that has booted with a wrong one")
                .isTrue();

        QuorumLab ours = new QuorumLab();
        ours.servers(3);
        QuorumLab.Client client = ours.client("holder");
        client.granted();
        ours.servers.get(0).forget();
        ours.servers.get(1).forget();
        QuorumLab.Client other = ours.client("other");
        other.acquire();
        ours.run(100);
        assertThat(ours.propose(ours.servers.get(0), ours.membership(other)))
                .as("born at the median of the clocks after the loss")
                .isInstanceOf(NodeReply.Quarantined.class);
    }

    private static boolean grantsWhileTheLeaseLives(Duration tooEarly) {
        QuorumLab world = new QuorumLab();
        world.servers(3);
        QuorumLab.Client client = world.client("holder");
        client.granted();
        long until = world.world.elapsedNanos() + QuorumLab.TTL * 98 / 100;
        SimulatedNode server = world.servers.get(0);
        server.forget();
        Membership now = world.membership(client);
        NodeReply.Unborn unborn = (NodeReply.Unborn) world.propose(server, now);
        long born = now.estimateMicros() - tooEarly.toMillis() * 1_000;
        server.birth(new Birth(unborn.nonce(), born, now.configuration(), QuorumLab.TIMEOUT))
                .join();
        world.run(200);
        return world.propose(server, world.membership(client)) instanceof NodeReply.Yes
                && world.world.elapsedNanos() < until;
    }

    /** Rule: a lost round is undone, and the next one continues with the same owner token. */
    @Test
    void theUndoOfALostRoundThatComesLate() {
        lab.servers(3);
        OwnerToken naive = owner();
        assertThat(takes(lab.servers.get(1), naive, "naive")).isTrue();
        // The round is lost; its undo for node 1 is slow. The next round wins at 0 and 1; then the undo arrives.
        assertThat(takes(lab.servers.get(0), naive, "naive")).isTrue();
        lab.run(5);
        assertThat(takes(lab.servers.get(1), naive, "naive")).isTrue();
        deletes(lab.servers.get(1), naive);
        lab.run(1);
        OwnerToken rival = owner();
        assertThat(takes(lab.servers.get(1), rival, "rival") && takes(lab.servers.get(2), rival, "rival"))
                .as("two hold")
                .isTrue();

        QuorumLab ours = new QuorumLab();
        ours.servers(3);
        QuorumLab.Client holder = ours.client("holder");
        QuorumLab.Client client = ours.client("client");
        Grant held = holder.granted();
        OwnerToken attempt = OwnerToken.draw(client.process);
        ours.servers.get(1).forceRelease(QuorumLab.LOCK, null);
        assertThat(ours.world.runUntilDone(client.wait(attempt))).isNotInstanceOf(AcquireReply.Granted.class);
        // The undo for node 1 is in flight, and slow; the lock becomes free, and the attempt continues.
        holder.release(held);
        AcquireReply reply = ours.world.runUntilDone(client.wait(attempt));
        for (int tries = 0; tries < 10 && !(reply instanceof AcquireReply.Granted); tries++) {
            ours.run(50);
            reply = ours.world.runUntilDone(client.wait(attempt));
        }
        assertThat(reply).isInstanceOf(AcquireReply.Granted.class);
        assertThat(((AcquireReply.Granted) reply).grant().owner())
                .as("nothing is sent with an owner token after its undo")
                .isNotEqualTo(attempt);
        ours.run(2_000);
        assertThat(ours.keptBy("client").size()).as("no late undo deletes it").isGreaterThanOrEqualTo(2);
        assertThat(ours.client("other").acquire()).isNotInstanceOf(AcquireReply.Granted.class);
    }
}
