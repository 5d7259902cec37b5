package io.leasehold.testkit.virtual;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.Permit;
import io.leasehold.Permits;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.SingleNodeStore;
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
import org.junit.jupiter.api.Test;

/**
 * Tests with workers of several processes that take permits, whose messages are lost, duplicated and late, and whose
 * processes stop and die: at most so many valid permits, each slot exclusive, tokens increase, and nothing is left.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("full")
final class PermitWorldTest {

    private static final LockName NAME = LockName.exactly("pool");
    private static final Duration TTL = Duration.ofSeconds(3);
    private static final int COUNT = 3;
    private static final int WORLDS = 150;

    private static final class Play {
        private final VirtualWorld world;
        private final VirtualRuntime host;
        private final InMemoryNode node;
        private final List<VirtualRuntime> processes = new ArrayList<>();
        private final List<FaultyNode> ways = new ArrayList<>();
        private final List<Worker> workers = new ArrayList<>();
        private final Map<Integer, Long> lastToken = new HashMap<>();
        private final List<String> violations = new ArrayList<>();
        private int taken;

        Play(long seed) {
            world = VirtualWorld.seeded(seed);
            host = world.process("node");
            node = new InMemoryNode(host);
            for (int i = 0; i < 3; i++) {
                VirtualRuntime process = world.process("p" + i);
                FaultyNode way = new FaultyNode(node, process, host);
                LockClient client = Leasehold.builder()
                        .store(new SingleNodeStore(way, process))
                        .runtime(process)
                        .defaults(LockOptions.defaults().ttl(TTL))
                        .connect();
                processes.add(process);
                ways.add(way);
                for (int k = 0; k < 3; k++) {
                    workers.add(new Worker(process, client.permits(NAME, COUNT)));
                }
            }
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
                CompletableFuture<Permit> asked = world.chance(0.2)
                        ? permits.attemptAsync(Duration.ofMillis(world.randomBelow(600)))
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
                    if (got.slot() >= COUNT || (before != null && before >= got.fencingToken())) {
                        violations.add("token " + got.fencingToken() + " follows " + before + " on slot " + got.slot());
                    }
                }
                process.schedule(world.randomBelow(world.chance(0.2) ? 8_000_000_000L : 800_000_000L), () -> {
                    got.releaseAsync();
                    ask();
                });
            }

            boolean holds() {
                return permit != null && !process.hasCrashed() && permit.isValid();
            }
        }

        private void disturb() {
            int at = (int) world.randomBelow(processes.size());
            FaultyNode way = ways.get(at);
            switch ((int) world.randomBelow(6)) {
                case 0 ->
                    way.faults(LinkFaults.none()
                            .delay(Duration.ofMillis(1), Duration.ofMillis(300))
                            .loss(0.3)
                            .duplication(0.3)
                            .reordering(0.3)
                            .lateReply(0.2)
                            .resetAfterSend(0.1));
                case 1 -> way.faults(LinkFaults.none());
                case 2 -> way.requests().cut();
                case 3 -> {
                    way.requests().heal();
                    way.replies().heal();
                }
                case 4 -> processes.get(at).freeze(Duration.ofMillis(world.randomBelow(6_000)));
                default -> {
                    if (at == 0 && world.chance(0.05)) {
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
            assertThat(slots).hasSizeLessThanOrEqualTo(COUNT);
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
            ways.forEach(way -> {
                way.faults(LinkFaults.none());
                way.requests().heal();
                way.replies().heal();
            });
            int before = taken;
            assertThat(world.runUntil(() -> taken > before + 20, Duration.ofMinutes(2)))
                    .as("once the faults are over, permits are taken again")
                    .isTrue();
            workers.forEach(worker -> worker.stopped = true);
            world.runFor(Duration.ofSeconds(30));
            assertThat(node.permits().orElseThrow().list("*", 10).join())
                    .as("nothing is left")
                    .isEmpty();
            assertThat(node.waiters(NAME.asPermits(), 10).join())
                    .as("no waiter is left")
                    .isEmpty();
        }
    }

    @Test
    void atMostSoManyPermitsAreValidAndEachSlotIsExclusive() {
        PrintStream errors = System.err;
        // Every fault is logged.
        System.setErr(new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8));
        try {
            for (long seed = 1; seed <= WORLDS; seed++) {
                play(seed);
            }
        } finally {
            System.setErr(errors);
        }
    }

    private static void play(long seed) {
        try {
            new Play(seed).run();
        } catch (RuntimeException | AssertionError e) {
            throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
        }
    }
}
