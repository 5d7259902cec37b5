package io.leasehold.simulator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Acquirable;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.node.Ballot;
import io.leasehold.node.LockNode;
import io.leasehold.node.Membership;
import io.leasehold.node.NodeReply;
import io.leasehold.node.PassingNode;
import io.leasehold.quorum.QuorumMember;
import io.leasehold.quorum.QuorumSettings;
import io.leasehold.quorum.QuorumStore;
import io.leasehold.simulator.SimulatedNode;
import io.leasehold.testkit.virtual.FaultyNode;
import io.leasehold.testkit.virtual.LinkFaults;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Readers and writers of the real engine that take turns at simulated nodes, in virtual time: nobody starves. */
@Tag("full")
@SuppressWarnings("FutureReturnValueIgnored")
final class QuorumReadersLivenessTest {

    private static final LockName LOCK = LockName.exactly("turn");
    private static final QuorumSettings SETTINGS = QuorumSettings.standard().nodeTimeout(Duration.ofMillis(50));
    private static final Duration HOLD = Duration.ofMillis(30);
    private static final Duration SPAN = Duration.ofSeconds(30);

    private final VirtualWorld world = VirtualWorld.seeded(7);
    private final List<SimulatedNode> servers = new ArrayList<>();
    private final List<Long> readerWaits = new ArrayList<>();
    private final List<Long> writerWaits = new ArrayList<>();
    private UnaryOperator<LockNode> link = node -> node;

    private static List<QuorumMember> members(List<? extends LockNode> nodes) {
        List<QuorumMember> members = new ArrayList<>();
        for (int node = 0; node < nodes.size(); node++) {
            members.add(QuorumMember.of(nodes.get(node), "node-" + node));
        }
        return members;
    }

    private void servers(int count) {
        for (int node = 0; node < count; node++) {
            servers.add(new SimulatedNode(world.process("node-" + node), one -> one));
        }
        QuorumStore operator = new QuorumStore(members(servers), SETTINGS, world.process("operator"));
        operator.declareNew(Duration.ofSeconds(1).toNanos()).join();
        operator.close();
    }

    private void takesTurns(String name, boolean writes) {
        VirtualRuntime process = world.process(name);
        List<LockNode> links = new ArrayList<>();
        for (SimulatedNode server : servers) {
            FaultyNode wire = new FaultyNode(server, process, server.host());
            wire.faults(LinkFaults.none().delay(Duration.ofNanos(200_000), Duration.ofNanos(600_000)));
            links.add(link.apply(wire));
        }
        LockClient locks = Leasehold.builder()
                .store(new QuorumStore(members(links), SETTINGS, process))
                .runtime(process)
                .label(name)
                .connect();
        if (writes) {
            takeTurn(process, locks.readWrite(LOCK).write(), writerWaits);
        } else {
            takeTurn(process, locks.readWrite(LOCK).read(), readerWaits);
        }
    }

    private <L extends Lease> void takeTurn(VirtualRuntime process, Acquirable<L> lock, List<Long> waits) {
        long asked = world.elapsedNanos();
        lock.acquireAsync().whenComplete((lease, error) -> {
            if (lease == null) {
                return;
            }
            waits.add(world.elapsedNanos() - asked);
            process.schedule(
                    HOLD.toNanos(),
                    () -> lease.releaseAsync().whenComplete((outcome, failure) -> takeTurn(process, lock, waits)));
        });
    }

    /** The 99th of 100 waits, in ms. */
    private long p99Millis(String whose, List<Long> waits) {
        List<Long> sorted = waits.stream().sorted().toList();
        assertThat(sorted).as(whose).isNotEmpty();
        long p99 = sorted.get(sorted.size() * 99 / 100) / 1_000_000;
        System.out.printf("%s, virtual time: %d turns, wait p99 %d ms%n", whose, sorted.size(), p99);
        return p99;
    }

    /** Four readers, whose holds overlap, so that the lock is never free on its own. */
    private void oneWriterAmongReaders() {
        servers(3);
        for (int i = 0; i < 4; i++) {
            takesTurns("reader-" + i, false);
        }
        takesTurns("writer", true);
        world.runFor(SPAN);
    }

    private void oneReaderAmongWriters() {
        servers(3);
        for (int i = 0; i < 3; i++) {
            takesTurns("writer-" + i, true);
        }
        takesTurns("reader", false);
        world.runFor(SPAN);
    }

    @Test
    void readersDoNotStarveAWriter() {
        oneWriterAmongReaders();
        p99Millis("readers", readerWaits);
        assertThat(p99Millis("a writer among four readers", writerWaits)).isLessThan(200);
        assertThat(writerWaits).hasSizeGreaterThan(100);
    }

    @Test
    void writersDoNotStarveAReader() {
        oneReaderAmongWriters();
        p99Millis("writers", writerWaits);
        assertThat(p99Millis("a reader among three writers", readerWaits)).isLessThan(500);
        assertThat(readerWaits).hasSizeGreaterThan(100);
    }

    /** What the places are for: the same turns without them. */
    @Test
    void withoutPlacesTheWriterStarves() {
        link = node -> new PassingNode(node) {
            @Override
            public CompletableFuture<NodeReply> acquire(Ballot ballot, Membership membership) {
                return super.acquire(new Ballot(ballot.request(), ballot.candidate(), ballot.reserve()), membership);
            }
        };
        oneWriterAmongReaders();
        assertThat(writerWaits.size()).isLessThan(readerWaits.size() / 20);
    }
}
