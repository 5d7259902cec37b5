package io.leasehold.simulator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.Permit;
import io.leasehold.Permits;
import io.leasehold.node.LockNode;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.quorum.QuorumMember;
import io.leasehold.quorum.QuorumSettings;
import io.leasehold.quorum.QuorumStore;
import io.leasehold.simulator.SimulatedNode;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.toolkit.PermitsByLocks;
import io.leasehold.testkit.virtual.FaultyNode;
import io.leasehold.testkit.virtual.LinkFaults;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests with workers of several processes that take permits over a lock for each slot: at a quorum of three nodes, and
 * at one node, whose lost replies leave the outcome unknown. Messages are lost, duplicated and late; processes and nodes
 * stop and crash, and the nodes of the quorum forget. At most so many permits are valid, each slot is exclusive, tokens
 * increase on each slot, and nothing is left.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("full")
final class SlotPermitsTest {

    private static final LockName NAME = LockName.exactly("pool");
    private static final Duration TTL = Duration.ofSeconds(3);
    private static final QuorumSettings SETTINGS =
            QuorumSettings.standard().maxTtl(TTL).nodeTimeout(Duration.ofMillis(100));
    private static final int WORLDS = 40;

    private static final class Play {
        private final VirtualWorld world;
        private final int count;
        private final List<SimulatedNode> servers = new ArrayList<>();
        private final List<VirtualRuntime> processes = new ArrayList<>();
        private final List<List<FaultyNode>> links = new ArrayList<>();
        private final List<Worker> workers = new ArrayList<>();
        private final Map<Integer, Long> lastToken = new HashMap<>();
        private final List<String> violations = new ArrayList<>();
        private int taken;
        private boolean hasCrashed;

        Play(long seed, int nodes, int count) {
            this.world = VirtualWorld.seeded(seed);
            this.count = count;
            for (int i = 0; i < nodes; i++) {
                servers.add(new SimulatedNode(world.process("node-" + i)));
            }
            if (nodes > 1) {
                QuorumStore operator = new QuorumStore(members(servers), SETTINGS, world.process("operator"));
                operator.declareNew(TTL.toNanos()).join();
                operator.close();
            }
            for (int i = 0; i < 3; i++) {
                VirtualRuntime process = world.process("p" + i);
                List<FaultyNode> ways = servers.stream()
                        .map(server -> new FaultyNode(server, process, server.host()))
                        .toList();
                LockClient client = Leasehold.builder()
                        .store(new PermitsByLocks(store(ways, process), process))
                        .runtime(process)
                        .defaults(LockOptions.defaults().ttl(TTL))
                        .connect();
                processes.add(process);
                links.add(ways);
                for (int k = 0; k < Math.max(2, count - 1); k++) {
                    workers.add(new Worker(process, client.permits(NAME, count)));
                }
            }
        }

        private static LockStore store(List<FaultyNode> ways, VirtualRuntime process) {
            return ways.size() == 1
                    ? new SingleNodeStore(ways.get(0), process)
                    : new QuorumStore(members(ways), SETTINGS, process);
        }

        private static List<QuorumMember> members(List<? extends LockNode> nodes) {
            return nodes.stream()
                    .map(node -> QuorumMember.of(node, node.description()))
                    .toList();
        }

        /** Takes a permit, holds it for a while, and begins again; it sometimes gives up. */
        private final class Worker {
            private final VirtualRuntime process;
            private final Permits permits;
            private Permit permit;
            private boolean stopped;

            Worker(VirtualRuntime process, Permits permits) {
                this.process = process;
                this.permits = permits;
                process.schedule(world.randomBelow(100_000_000L), this::ask);
            }

            private void ask() {
                if (stopped) {
                    return;
                }
                CompletableFuture<Permit> asked = world.chance(0.3)
                        ? permits.attemptAsync(Duration.ofMillis(world.chance(0.3) ? 0 : world.randomBelow(600)))
                                .thenApply(attempt -> attempt.orElseNull())
                        : permits.acquireAsync();
                if (world.chance(0.1)) {
                    process.schedule(world.randomBelow(500_000_000L), () -> asked.cancel(false));
                }
                asked.whenComplete((got, error) -> {
                    if (got == null) {
                        process.schedule(world.randomBelow(200_000_000L), this::ask);
                    } else {
                        hold(got);
                    }
                });
            }

            private void hold(Permit got) {
                permit = got;
                taken++;
                if (got.isValid()) {
                    Long before = lastToken.put(got.slot(), got.fencingToken());
                    if (got.slot() >= count || (before != null && before >= got.fencingToken())) {
                        violations.add("token " + got.fencingToken() + " follows " + before + " on slot " + got.slot());
                    }
                }
                process.schedule(world.randomBelow(world.chance(0.2) ? 8_000_000_000L : 500_000_000L), () -> {
                    got.releaseAsync();
                    ask();
                });
            }

            boolean holds() {
                return permit != null && !process.hasCrashed() && permit.isValid();
            }
        }

        private void disturb() {
            int client = (int) world.randomBelow(processes.size());
            int at = (int) world.randomBelow(servers.size());
            FaultyNode way = links.get(client).get(at);
            Duration span = Duration.ofMillis(world.randomBelow(4_000));
            switch ((int) world.randomBelow(9)) {
                case 0, 1 ->
                    way.faults(LinkFaults.none()
                            .delay(Duration.ofMillis(1), Duration.ofMillis(120))
                            .loss(0.3)
                            .duplication(0.3)
                            .reordering(0.3)
                            .lateReply(0.2)
                            .resetAfterSend(0.1));
                case 2 -> way.faults(LinkFaults.none());
                case 3 -> way.requests().cut();
                case 4 -> {
                    way.requests().heal();
                    way.replies().heal();
                }
                case 5 -> processes.get(client).freeze(Duration.ofMillis(world.randomBelow(6_000)));
                case 6 -> servers.get(at).host().freeze(span);
                case 7 -> {
                    if (servers.size() == 1 || world.chance(0.5)) {
                        servers.get(at).crash(span);
                    } else {
                        servers.get(at).crashAndLoseAll(span);
                    }
                }
                default -> {
                    if (!hasCrashed && world.chance(0.05)) {
                        hasCrashed = true;
                        processes.get(0).crash();
                    }
                }
            }
        }

        private void check() {
            List<Integer> slots = workers.stream()
                    .filter(Worker::holds)
                    .map(worker -> worker.permit.slot())
                    .toList();
            assertThat(slots).as("the slots of valid permits").doesNotHaveDuplicates();
            assertThat(slots).hasSizeLessThanOrEqualTo(count);
            assertThat(violations).isEmpty();
        }

        void run() {
            for (int i = 0; i < 120; i++) {
                if (world.chance(0.3)) {
                    disturb();
                }
                world.runFor(Duration.ofMillis(20 + world.randomBelow(300)));
                check();
            }
            links.forEach(ways -> ways.forEach(way -> {
                way.faults(LinkFaults.none());
                way.requests().heal();
                way.replies().heal();
            }));
            int before = taken;
            assertThat(world.runUntil(() -> taken > before + 20, Duration.ofMinutes(2)))
                    .as("once the faults are over, permits are taken again")
                    .isTrue();
            workers.forEach(worker -> worker.stopped = true);
            world.runFor(Duration.ofSeconds(30));
            for (SimulatedNode server : servers) {
                assertThat(server.problems())
                        .as("no owner token is used after its end")
                        .isEmpty();
                assertThat(server.list("*", 100).join()).as("nothing is left").isEmpty();
                assertThat(server.waiters(LockName.exactly(NAME + "#0"), 10).join())
                        .as("no waiter is left")
                        .isEmpty();
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"3, 1", "3, 2", "3, 5", "1, 2", "1, 5"})
    void atMostSoManyPermitsAreValidAndEachSlotIsExclusive(int nodes, int count) {
        PrintStream errors = System.err;
        // Every fault is logged.
        System.setErr(new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8));
        try {
            for (long seed = 1; seed <= WORLDS; seed++) {
                play(seed, nodes, count);
            }
        } finally {
            System.setErr(errors);
        }
    }

    private static void play(long seed, int nodes, int count) {
        try {
            new Play(seed, nodes, count).run();
        } catch (RuntimeException | AssertionError e) {
            throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
        }
    }
}
