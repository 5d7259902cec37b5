package io.leasehold.simulator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.Ballot;
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
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Simpler rules for ballots and memory, and why they fail: each schedule runs twice, on nodes with the simpler rule,
 * where it breaks a guarantee, and on Leasehold's nodes.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class NaiveNodesTest {

    /** A number of a client whose clock is wrong by years. */
    private static final long ABSURD = Long.MAX_VALUE >>> 11;

    private static OwnerToken owner(QuorumLab lab) {
        return OwnerToken.draw(lab.world.process("drawn"));
    }

    private static Ballot ballot(OwnerToken owner, long candidate, int reserve) {
        return new Ballot(
                AcquireRequest.exclusive(
                        List.of(QuorumLab.LOCK), owner, "host/1/played", QuorumLab.TTL, QuorumLab.TIMEOUT),
                candidate,
                reserve);
    }

    private static ReleaseRequest undo(OwnerToken owner, long ballot) {
        return new ReleaseRequest(List.of(QuorumLab.LOCK), owner, ballot, ReleaseRequest.Kind.UNDO, QuorumLab.TIMEOUT);
    }

    private static long micros(QuorumLab lab) {
        return lab.servers.get(0).host().wallMillis() * 1_000;
    }

    /** A fence that replaces the node's: a ballot that is stale at the node but above this fence is granted. */
    private abstract static class OwnFence extends PassingNode {
        private final LockNode node;
        private long fence;

        OwnFence(LockNode node) {
            super(node);
            this.node = node;
        }

        /** The fence after a release with this ballot. */
        abstract long fenceAfter(long fence, long ballot);

        @Override
        public CompletableFuture<NodeReply> acquire(Ballot ballot) {
            return granted(ballot, node::acquire);
        }

        @Override
        public CompletableFuture<NodeReply> acquire(Ballot ballot, Membership membership) {
            return granted(ballot, asked -> node.acquire(asked, membership));
        }

        private CompletableFuture<NodeReply> granted(Ballot ballot, Asked asked) {
            return asked.of(ballot).thenCompose(reply -> {
                if (reply instanceof NodeReply.Stale stale && ballot.candidate() > fence) {
                    return asked.of(new Ballot(ballot.request(), stale.floor() + 1, ballot.reserve()));
                } else if (reply instanceof NodeReply.Yes yes && ballot.candidate() <= fence) {
                    node.release(undo(ballot.request().owner(), 0));
                    return CompletableFuture.completedFuture(
                            new NodeReply.Stale(fence, yes.incarnation(), yes.serverMicros()));
                }
                fence = reply instanceof NodeReply.Yes ? ballot.tokens().last() : fence;
                return CompletableFuture.completedFuture(reply);
            });
        }

        @Override
        public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
            fence = fenceAfter(fence, request.ballot());
            return node.release(request);
        }

        /** One of the node's two verbs. */
        private interface Asked {
            CompletableFuture<NodeReply> of(Ballot ballot);
        }
    }

    /** Rule: the unused part of a grant's range is returned, so that no numbers are wasted. */
    @Test
    void aRangeGivenBack() {
        assertThat(keptByACopyOfWhatWasGivenBack(node -> new OwnFence(node) {
                    @Override
                    long fenceAfter(long fence, long ballot) {
                        return ballot;
                    }
                }))
                .as("a copy of the acquire, late, brings the lock back to who has ended")
                .isTrue();
        assertThat(keptByACopyOfWhatWasGivenBack(node -> node)).isFalse();

        // And over a set: whatever part of the range the caller has used, the fence of each node stays above all of it.
        QuorumLab ours = new QuorumLab();
        List<Ballot> sent = new ArrayList<>();
        List<Membership> memberships = new ArrayList<>();
        ours.servers(3, node -> new Recording(node, sent, memberships));
        QuorumLab.Client client = ours.client("ours");
        AcquireReply reply = ours.world.runUntilDone(client.store.acquire(AcquireRequest.exclusive(
                        List.of(QuorumLab.LOCK), owner(ours), "host/1/ours", QuorumLab.TTL, QuorumLab.TIMEOUT)
                .reserve(64)));
        Grant grant = ((AcquireReply.Granted) reply).grant();
        assertThat(grant.tokens().last() - grant.tokens().first()).isEqualTo(63);
        ours.run(10);
        ours.world.runUntilDone(client.store.release(undo(grant.owner(), 0)));
        ours.run(10);
        // From the last one on: a copy is recorded, too.
        for (int copy = sent.size() - 1; copy >= 0; copy--) {
            for (SimulatedNode server : ours.servers) {
                server.acquire(sent.get(copy), memberships.get(copy)).join();
            }
        }
        assertThat(ours.keptBy("ours")).isEmpty();
        Grant next = ours.client("next").granted();
        assertThat(next.tokens().first()).isGreaterThan(grant.tokens().last());
    }

    /** Granted 64 tokens, none used, and returned as unused; then a copy of the acquire arrives. */
    private static boolean keptByACopyOfWhatWasGivenBack(UnaryOperator<LockNode> rule) {
        QuorumLab lab = new QuorumLab();
        lab.servers(1);
        LockNode node = rule.apply(new InMemoryNode(lab.servers.get(0).host()));
        OwnerToken owner = owner(lab);
        Ballot asked = ballot(owner, micros(lab), 64);
        assertThat(node.acquire(asked).join()).isInstanceOf(NodeReply.Yes.class);
        node.release(undo(owner, asked.candidate() - 1)).join();
        assertThat(node.admin().describe(QuorumLab.LOCK).join()).isEmpty();
        node.acquire(asked).join();
        return node.admin().describe(QuorumLab.LOCK).join().isPresent();
    }

    /** Records the requests that reach a node. */
    private static final class Recording extends PassingNode {
        private final List<Ballot> sent;
        private final List<Membership> memberships;

        Recording(LockNode node, List<Ballot> sent, List<Membership> memberships) {
            super(node);
            this.sent = sent;
            this.memberships = memberships;
        }

        @Override
        public CompletableFuture<NodeReply> acquire(Ballot ballot, Membership membership) {
            sent.add(ballot);
            memberships.add(membership);
            return super.acquire(ballot, membership);
        }
    }

    /** Rule: the owner of the key gets a yes, even for a ballot below the fence. */
    @Test
    void aStaleBallotToItsOwnKey() {
        assertThat(votesForTheStaleBallot(StaleIsYes::new))
                .as("a quorum for a token below one that was already shown")
                .isEqualTo(2);
        assertThat(votesForTheStaleBallot(node -> node)).isEqualTo(1);
    }

    /**
     * The number of nodes that say yes to a ballot below the token of an earlier holder. That holder had nodes 1 and 2.
     * The ballot reaches 0, is stale at 1 and slow to 2; the next one, above the fence, reaches 2 first.
     */
    private static int votesForTheStaleBallot(UnaryOperator<LockNode> rule) {
        QuorumLab lab = new QuorumLab();
        lab.servers(1);
        List<LockNode> nodes = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            nodes.add(rule.apply(new InMemoryNode(lab.servers.get(0).host())));
        }
        long low = micros(lab);
        long shown = low + 1_000;
        OwnerToken earlier = owner(lab);
        for (LockNode node : nodes.subList(1, 3)) {
            assertThat(node.acquire(ballot(earlier, shown, 1)).join()).isInstanceOf(NodeReply.Yes.class);
            node.release(undo(earlier, shown)).join();
        }
        OwnerToken owner = owner(lab);
        Ballot stale = ballot(owner, low, 1);
        int votes = says(nodes.get(0), stale) + says(nodes.get(1), stale);
        assertThat(says(nodes.get(2), ballot(owner, shown + 1, 1))).isEqualTo(1);
        return votes + says(nodes.get(2), stale);
    }

    private static int says(LockNode node, Ballot ballot) {
        return node.acquire(ballot).join() instanceof NodeReply.Yes ? 1 : 0;
    }

    private static final class StaleIsYes extends PassingNode {
        private @Nullable OwnerToken holder;

        StaleIsYes(LockNode node) {
            super(node);
        }

        @Override
        public CompletableFuture<NodeReply> acquire(Ballot ballot) {
            return super.acquire(ballot).thenApply(reply -> {
                if (reply instanceof NodeReply.Yes) {
                    holder = ballot.request().owner();
                }
                return reply instanceof NodeReply.Stale stale
                                && ballot.request().owner().equals(holder)
                        ? new NodeReply.Yes(stale.incarnation(), stale.serverMicros())
                        : reply;
            });
        }

        @Override
        public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
            holder = request.owner().equals(holder) ? null : holder;
            return super.release(request);
        }
    }

    /** Rule: an undo raises the fence to any proposed ballot. */
    @Test
    void anAbsurdCandidateThatIsUndone() {
        assertThat(grantedAfterAnAbsurdUndo(node -> new OwnFence(node) {
                    @Override
                    long fenceAfter(long fence, long ballot) {
                        return Math.max(fence, ballot);
                    }
                }))
                .as("no token is left for anybody, for ever")
                .isNull();
        Grant ours = grantedAfterAnAbsurdUndo(node -> node);
        assertThat(ours).isNotNull();
        assertThat(ours.tokens().last())
                .as("and the fences are where the clocks are")
                .isLessThan(ABSURD / 2);
    }

    /**
     * A client with a wrong clock proposes its number everywhere, and undoes it; returns the grant of a request in the
     * half minute after that.
     */
    private static @Nullable Grant grantedAfterAnAbsurdUndo(UnaryOperator<LockNode> rule) {
        QuorumLab lab = new QuorumLab();
        lab.servers(3, rule);
        QuorumLab.Client broken = lab.client("broken");
        OwnerToken owner = owner(lab);
        for (SimulatedNode server : lab.servers) {
            assertThat(server.acquire(ballot(owner, ABSURD, 1), lab.membership(broken))
                            .join())
                    .isInstanceOf(NodeReply.Refused.class);
            server.release(undo(owner, ABSURD)).join();
        }
        QuorumLab.Client client = lab.client("client");
        for (int tries = 0; tries < 300; tries++) {
            if (client.acquire() instanceof AcquireReply.Granted granted) {
                return granted.grant();
            }
            lab.run(100);
        }
        return null;
    }

    /** Rule: the server's run id is read once per connection, since a connection ends with its server. */
    @Test
    void aRunIdThatIsRememberedForItsConnection() {
        assertThat(twoHoldAfterAnEmptyRestartBehindAProxy(() -> {
                    // The connection outlives the server: the proxy keeps it.
                    AtomicBoolean asked = new AtomicBoolean();
                    return node -> new OncePerConnection(node, asked);
                }))
                .as("two hold")
                .isTrue();
        assertThat(twoHoldAfterAnEmptyRestartBehindAProxy(() -> node -> node)).isFalse();
    }

    private static boolean twoHoldAfterAnEmptyRestartBehindAProxy(Connection rule) {
        QuorumLab lab = new QuorumLab();
        lab.servers(3, rule.begun());
        QuorumLab.Client holder = lab.client("holder");
        QuorumLab.Client other = lab.client("other");
        long until = lab.world.elapsedNanos() + QuorumLab.TTL * 98 / 100;
        holder.granted();
        assertThat(other.acquire()).isInstanceOf(AcquireReply.Busy.class);
        lab.servers.get(0).forget();
        lab.servers.get(1).forget();
        AcquireReply reply = other.acquire();
        for (int tries = 0; tries < 10 && !(reply instanceof AcquireReply.Granted); tries++) {
            lab.run(100);
            reply = other.acquire();
        }
        assertThat(lab.world.elapsedNanos()).as("the lease still lives").isLessThan(until);
        return reply instanceof AcquireReply.Granted;
    }

    /** The first steps of a connection from a set to a server. */
    private interface Connection {
        UnaryOperator<LockNode> begun();
    }

    private static final class OncePerConnection extends PassingNode {
        private final AtomicBoolean asked;

        OncePerConnection(LockNode node, AtomicBoolean asked) {
            super(node);
            this.asked = asked;
        }

        @Override
        public CompletableFuture<NodeReply> acquire(Ballot ballot, Membership membership) {
            if (asked.get()) {
                return super.acquire(ballot);
            }
            return super.acquire(ballot, membership).thenApply(reply -> {
                asked.set(reply instanceof NodeReply.Yes || reply instanceof NodeReply.Held);
                return reply;
            });
        }
    }
}
