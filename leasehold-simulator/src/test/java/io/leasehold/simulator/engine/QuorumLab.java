package io.leasehold.simulator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.node.Ballot;
import io.leasehold.node.LockNode;
import io.leasehold.node.Membership;
import io.leasehold.node.NodeReply;
import io.leasehold.quorum.QuorumMember;
import io.leasehold.quorum.QuorumSettings;
import io.leasehold.quorum.QuorumStore;
import io.leasehold.simulator.SimulatedNode;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Grant;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
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
import java.util.function.UnaryOperator;

/** A set of simulated servers and their clients, in one virtual world, for directed sequences. */
@SuppressWarnings("FutureReturnValueIgnored")
final class QuorumLab {

    static final LockName LOCK = LockName.exactly("the-lock");
    static final Duration MAX_TTL = Duration.ofSeconds(3);
    static final long TTL = Duration.ofSeconds(3).toNanos();
    static final long TIMEOUT = Duration.ofMillis(400).toNanos();
    static final QuorumSettings SETTINGS =
            QuorumSettings.standard().maxTtl(MAX_TTL).nodeTimeout(Duration.ofMillis(200));
    static final Duration QUARANTINE = Duration.ofMillis(3_030 + 1_000);

    final VirtualWorld world = VirtualWorld.seeded(1);
    final List<SimulatedNode> servers = new ArrayList<>();

    void servers(int count) {
        servers(count, node -> node);
    }

    void servers(int count, UnaryOperator<LockNode> variant) {
        for (int i = 0; i < count; i++) {
            servers.add(new SimulatedNode(world.process("node-" + i), variant));
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

    /** A client of the set. */
    Client client(String name) {
        return new Client(name);
    }

    /** A client with its own links, which delay by 1 ms by default. */
    final class Client {
        final VirtualRuntime process;
        final List<FaultyNode> links = new ArrayList<>();
        final QuorumStore store;

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

        /** Requests the lock as a waiter that wants to be woken. */
        CompletableFuture<AcquireReply> wait(OwnerToken owner) {
            return store.acquire(
                    AcquireRequest.exclusive(List.of(LOCK), owner, "host/1/" + process.name(), TTL, TIMEOUT)
                            .waiting(TIMEOUT));
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

    static void delay(FaultyNode link, long millis) {
        link.faults(LinkFaults.none().delay(Duration.ofMillis(millis), Duration.ofMillis(millis)));
    }

    Set<Integer> keptBy(String client) {
        Set<Integer> nodes = new HashSet<>();
        for (int node = 0; node < servers.size(); node++) {
            if (servers.get(node).describe(LOCK).join().stream()
                    .anyMatch(held -> held.holder().id().equals("host/1/" + client))) {
                nodes.add(node);
            }
        }
        return nodes;
    }

    void run(long millis) {
        world.runFor(Duration.ofMillis(millis));
    }

    Membership membership(Client client) {
        long micros = client.process.wallMillis() * 1_000;
        return new Membership(
                client.store.configuration(),
                micros,
                QUARANTINE.toNanos() / 1_000,
                750_000,
                Membership.Persistence.VOLATILE);
    }

    NodeReply propose(SimulatedNode server, Membership membership) {
        OwnerToken owner = OwnerToken.draw(server.host());
        AcquireRequest request = AcquireRequest.exclusive(List.of(LOCK), owner, "host/1/x", TTL, TIMEOUT);
        return server.acquire(new Ballot(request, membership.estimateMicros(), 1), membership)
                .join();
    }
}
