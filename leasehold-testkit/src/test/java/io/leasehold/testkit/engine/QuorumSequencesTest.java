package io.leasehold.testkit.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.quorum.QuorumMember;
import io.leasehold.quorum.QuorumSettings;
import io.leasehold.quorum.QuorumStore;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Ballot;
import io.leasehold.spi.Birth;
import io.leasehold.spi.Grant;
import io.leasehold.spi.LockNode;
import io.leasehold.spi.Membership;
import io.leasehold.spi.NodeReply;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import io.leasehold.testkit.simulation.SimulatedNode;
import io.leasehold.testkit.virtual.FaultyNode;
import io.leasehold.testkit.virtual.LinkFaults;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** The sequences that break simpler quorums, one by one; where it is cheap, first the simpler one breaks. */
@SuppressWarnings("FutureReturnValueIgnored")
final class QuorumSequencesTest {

    private static final LockName LOCK = LockName.exactly("the-lock");
    private static final Duration MAX_TTL = Duration.ofSeconds(3);
    private static final long TTL = Duration.ofSeconds(3).toNanos();
    private static final long TIMEOUT = Duration.ofMillis(400).toNanos();
    private static final QuorumSettings SETTINGS =
            QuorumSettings.standard().maxTtl(MAX_TTL).nodeTimeout(Duration.ofMillis(200));
    private static final Duration QUARANTINE = Duration.ofMillis(3_030 + 1_000);

    private final VirtualWorld world = VirtualWorld.seeded(1);
    private final List<SimulatedNode> servers = new ArrayList<>();

    private void servers(int count) {
        for (int i = 0; i < count; i++) {
            servers.add(new SimulatedNode(world.process("node-" + i)));
        }
        QuorumStore operator = new QuorumStore(members(servers), SETTINGS, world.process("operator"));
        operator.declareNew(TIMEOUT).join();
        operator.close();
    }

    private static List<QuorumMember> members(List<? extends LockNode> nodes) {
        return nodes.stream()
                .map(node -> QuorumMember.of(node, node.description()))
                .toList();
    }

    /** A client with links of its own; they delay by 1 ms unless told otherwise. */
    private final class Client {
        private final VirtualRuntime process;
        private final List<FaultyNode> links = new ArrayList<>();
        private final QuorumStore store;

        Client(String name) {
            process = world.process(name);
            for (SimulatedNode server : servers) {
                FaultyNode link = new FaultyNode(server, process, server.host());
                delay(link, 1);
                links.add(link);
            }
            store = new QuorumStore(members(links), SETTINGS, process);
            store.listen(new StoreSignals() {
                @Override
                public void wake(LockName name) {}

                @Override
                public void lost(OwnerToken owner, LossCause cause) {}

                @Override
                public void reconnected() {}
            });
        }

        AcquireReply acquire() {
            return world.runUntilDone(ask(OwnerToken.draw(process)));
        }

        CompletableFuture<AcquireReply> ask(OwnerToken owner) {
            return store.acquire(
                    AcquireRequest.exclusive(List.of(LOCK), owner, "host/1/" + process.name(), TTL, TIMEOUT));
        }

        Grant granted() {
            AcquireReply reply = acquire();
            assertThat(reply).isInstanceOf(AcquireReply.Granted.class);
            return ((AcquireReply.Granted) reply).grant();
        }

        RenewReply.Item renew(Grant grant) {
            return world.runUntilDone(store.renew(
                            new RenewBatch(List.of(new RenewBatch.Item(LOCK, grant.owner(), TTL)), TIMEOUT)))
                    .items()
                    .get(0);
        }

        ReleaseReply release(Grant grant) {
            return world.runUntilDone(store.release(new ReleaseRequest(
                    List.of(LOCK), grant.owner(), grant.tokens().last(), ReleaseRequest.Kind.RELEASE, TIMEOUT)));
        }
    }

    private static void delay(FaultyNode link, long millis) {
        link.faults(LinkFaults.none().delay(Duration.ofMillis(millis), Duration.ofMillis(millis)));
    }

    private Set<Integer> keptBy(String client) {
        Set<Integer> nodes = new HashSet<>();
        for (int node = 0; node < servers.size(); node++) {
            if (servers.get(node).describe(LOCK).join().stream()
                    .anyMatch(held -> held.holder().id().equals("host/1/" + client))) {
                nodes.add(node);
            }
        }
        return nodes;
    }

    private void run(long millis) {
        world.runFor(Duration.ofMillis(millis));
    }

    @Test
    void theLateYesOfAWonAttemptStays() {
        servers(3);
        Client client = new Client("a");
        client.granted();
        run(10_000);
        delay(client.links.get(2), 60);
        Grant grant = client.granted();
        assertThat(keptBy("a")).containsExactlyInAnyOrder(0, 1);
        run(200);
        assertThat(keptBy("a")).as("it joined the grant").containsExactlyInAnyOrder(0, 1, 2);
        servers.get(0).forget();
        assertThat(client.renew(grant)).as("and counts").isInstanceOf(RenewReply.Renewed.class);
        run(2_000);
        assertThat(client.renew(grant)).isInstanceOf(RenewReply.Renewed.class);
    }

    @Test
    void theLateYesOfALostAttemptLeavesNothing() {
        servers(3);
        Client holder = new Client("holder");
        Client loser = new Client("loser");
        Grant grant = holder.granted();
        assertThat(loser.acquire()).isInstanceOf(AcquireReply.Busy.class);
        servers.get(2).forceRelease(LOCK, null);
        delay(loser.links.get(2), 80);
        assertThat(loser.acquire()).isInstanceOf(AcquireReply.Busy.class);
        run(100);
        assertThat(keptBy("loser")).as("the late request took the free node").containsExactly(2);
        run(200);
        assertThat(keptBy("loser")).as("and it was undone").isEmpty();
        assertThat(holder.release(grant)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(loser.acquire()).isInstanceOf(AcquireReply.Granted.class);
    }

    /** Counters per node: partial grants let a later owner get a smaller number. Ballots do not. */
    @Test
    void tokensRiseThoughQuorumsShareOneNodeOnly() {
        servers(5);
        int[] counters = new int[5];
        List<Integer> naive = new ArrayList<>();
        List<Long> ours = new ArrayList<>();
        int[][] quorums = {{0, 1, 2}, {0, 1, 2}, {2, 3, 4}, {0, 3, 4}, {4, 1, 2}};
        for (int[] quorum : quorums) {
            Client client = new Client("c" + ours.size());
            for (FaultyNode link : client.links) {
                link.refuseConnections();
            }
            int lowest = Integer.MAX_VALUE;
            for (int node : quorum) {
                client.links.get(node).acceptConnections();
                lowest = Math.min(lowest, ++counters[node]);
            }
            // What a client that counts with INCR would show: the number that its quorum agrees on.
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
        servers(3);
        Client holder = new Client("holder");
        Client other = new Client("other");
        Grant grant = holder.granted();
        servers.get(0).forget();
        servers.get(1).forget();
        // Without the quarantine these two would be a quorum.
        assertThat(keptBy("holder")).containsExactly(2);
        long start = world.elapsedNanos();
        long validUntil = start + TTL;
        while (world.elapsedNanos() < validUntil) {
            assertThat(other.acquire()).as("two hold").isNotInstanceOf(AcquireReply.Granted.class);
            run(100);
        }
        world.runFor(QUARANTINE);
        AcquireReply after = other.acquire();
        assertThat(after).isInstanceOf(AcquireReply.Granted.class);
        assertThat(((AcquireReply.Granted) after).grant().tokens().first())
                .isGreaterThan(grant.tokens().last());
    }

    /** The birth comes from after the loss: a request that was under way while the node forgot has an old clock. */
    @Test
    void theBirthIsNeverTakenFromALateRequest() {
        servers(3);
        Client slow = new Client("slow");
        slow.release(slow.granted());
        run(5_000);
        slow.links.get(0).requests().stall();
        CompletableFuture<AcquireReply> asked = slow.ask(OwnerToken.draw(slow.process));
        run(3_000);
        servers.get(0).forget();
        long forgotten = world.elapsedNanos();
        slow.links.get(0).requests().resume();
        world.runUntilDone(asked);
        run(100);
        // A node that took its birth from that request would be 3 s old now, and its quarantine nearly over.
        assertThat(propose(servers.get(0), membership(slow))).isInstanceOf(NodeReply.Unborn.class);
        slow.acquire();
        run(100);
        NodeReply reply = propose(servers.get(0), membership(slow));
        assertThat(reply).isInstanceOf(NodeReply.Refused.class);
        long left = ((NodeReply.Refused) reply).retryNanos();
        assertThat(left)
                .as("the rest of the quarantine")
                .isGreaterThanOrEqualTo(QUARANTINE.toNanos() - (world.elapsedNanos() - forgotten) - 50_000_000L);
    }

    /** A birth that is late, or told twice, fits no later life. */
    @Test
    void aBirthFitsOneLifeOnly() {
        servers(3);
        Client client = new Client("a");
        SimulatedNode server = servers.get(0);
        server.forget();
        NodeReply.Unborn first = (NodeReply.Unborn) propose(server, membership(client));
        server.forget();
        NodeReply.Unborn second = (NodeReply.Unborn) propose(server, membership(client));
        assertThat(second.nonce()).isNotEqualTo(first.nonce());
        Birth late = new Birth(first.nonce(), 1, client.store.configuration(), TIMEOUT);
        assertThat(server.birth(late).join()).isInstanceOf(NodeReply.Refused.class);
        Birth right = new Birth(second.nonce(), 1, client.store.configuration(), TIMEOUT);
        assertThat(server.birth(right).join()).isInstanceOf(NodeReply.Stale.class);
        assertThat(server.birth(right).join()).isInstanceOf(NodeReply.Refused.class);
    }

    private Membership membership(Client client) {
        long micros = client.process.wallMillis() * 1_000;
        return new Membership(
                client.store.configuration(),
                micros,
                QUARANTINE.toNanos() / 1_000,
                750_000,
                Membership.Persistence.VOLATILE);
    }

    private NodeReply propose(SimulatedNode server, Membership membership) {
        OwnerToken owner = OwnerToken.draw(server.host());
        AcquireRequest request = AcquireRequest.exclusive(List.of(LOCK), owner, "host/1/x", TTL, TIMEOUT);
        return server.acquire(new Ballot(request, membership.estimateMicros(), 1), membership)
                .join();
    }

    @Test
    void aNodeThatLostTheKeyGetsItBackAfterARenewal() {
        servers(5);
        Client client = new Client("a");
        Grant grant = client.granted();
        run(10);
        servers.get(3).forceRelease(LOCK, null);
        servers.get(4).forceRelease(LOCK, null);
        assertThat(keptBy("a")).containsExactlyInAnyOrder(0, 1, 2);
        assertThat(client.renew(grant)).isInstanceOf(RenewReply.Renewed.class);
        run(20);
        assertThat(keptBy("a")).as("repaired").hasSize(5);
        servers.get(0).forceRelease(LOCK, null);
        servers.get(1).forceRelease(LOCK, null);
        assertThat(client.renew(grant)).as("the repaired nodes count").isInstanceOf(RenewReply.Renewed.class);
        assertThat(client.release(grant)).isInstanceOf(ReleaseReply.Released.class);
        run(20);
        assertThat(keptBy("a")).as("released at the repaired nodes too").isEmpty();
        assertThat(new Client("b").acquire())
                .as("the fence knows the ballots of the repairs")
                .isInstanceOf(AcquireReply.Granted.class);
    }

    @Test
    void aLostLockIsNeverReCreated() {
        servers(5);
        Client client = new Client("a");
        Grant grant = client.granted();
        run(10);
        for (int node = 0; node < 3; node++) {
            servers.get(node).forceRelease(LOCK, null);
        }
        assertThat(client.renew(grant)).isInstanceOf(RenewReply.NotOurs.class);
        run(1_000);
        assertThat(keptBy("a")).as("nothing was repaired").containsExactlyInAnyOrder(3, 4);
    }

    /** What is released is not repaired by an answer that comes later. */
    @Test
    void aRepairNeverBringsBackAReleasedLock() {
        servers(3);
        Client client = new Client("a");
        Grant grant = client.granted();
        run(10);
        servers.get(2).forceRelease(LOCK, null);
        delay(client.links.get(2), 50);
        client.renew(grant);
        assertThat(client.release(grant)).isInstanceOf(ReleaseReply.Released.class);
        run(1_000);
        assertThat(keptBy("a")).isEmpty();
    }

    @Test
    void aReleaseReachesNodesThatNeverAnswered() {
        servers(3);
        Client client = new Client("a");
        client.release(client.granted());
        run(100);
        client.links.get(2).requests().stall();
        Grant grant = client.granted();
        assertThat(client.release(grant)).isInstanceOf(ReleaseReply.Released.class);
        client.links.get(2).requests().resume();
        run(500);
        assertThat(keptBy("a")).as("the late acquire lost to the release").isEmpty();
    }

    @Test
    void aNodeWhoseClockJumpedHasNoVote() {
        servers(3);
        Client client = new Client("a");
        client.release(client.granted());
        run(500);
        client.links.get(2).refuseConnections();
        servers.get(1).host().monotonicRate(1.3);
        run(500);
        servers.get(1).host().monotonicRate(1.0);
        AcquireReply reply = client.acquire();
        assertThat(reply).isInstanceOf(AcquireReply.Failed.class);
        assertThat(reply.votes().toString()).contains("its clock jumped");
        run(4_000);
        client.release(client.granted());
    }
}
