package io.leasehold.testkit.virtual;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Acquirable;
import io.leasehold.Hold;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.MultiPermit;
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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests with processes that want three of four permits, beside processes that want one, while messages are lost,
 * duplicated and late, and processes stop: each slot is exclusive, a caller gets three or none, none waits forever,
 * and nothing is left.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("full")
final class SeveralPermitsWorldTest {

    private static final LockName NAME = LockName.exactly("pool");
    private static final Duration TTL = Duration.ofSeconds(3);
    private static final int COUNT = 4;
    private static final int WORLDS = 150;

    private static final class Play {
        private final VirtualWorld world;
        private final InMemoryNode node;
        private final List<VirtualRuntime> processes = new ArrayList<>();
        private final List<FaultyNode> ways = new ArrayList<>();
        private final List<Worker<?>> workers = new ArrayList<>();
        private final Map<Integer, Long> lastToken = new HashMap<>();
        private final List<String> violations = new ArrayList<>();

        Play(long seed, boolean atOnce) {
            world = VirtualWorld.seeded(seed);
            VirtualRuntime host = world.process("node");
            node = new InMemoryNode(host);
            for (int i = 0; i < 3; i++) {
                VirtualRuntime process = world.process("p" + i);
                FaultyNode way = new FaultyNode(node, process, host);
                LockClient client = Leasehold.builder()
                        .store(
                                atOnce
                                        ? new SingleNodeStore(way, process)
                                        : new OneByOneStore(new SingleNodeStore(way, process)))
                        .runtime(process)
                        .defaults(LockOptions.defaults().ttl(TTL))
                        .connect();
                processes.add(process);
                ways.add(way);
                Permits permits = client.permits(NAME, COUNT);
                if (i < 2) {
                    workers.add(new Worker<MultiPermit>(process, permits.several(3), 3));
                    workers.add(new Worker<MultiPermit>(process, permits.several(3), 3));
                } else {
                    workers.add(new Worker<Permit>(process, permits, 1));
                }
            }
        }

        /** Takes its permits, holds them for a while, and begins again; it sometimes gives up. */
        private final class Worker<H extends Hold> {
            private final VirtualRuntime process;
            private final Acquirable<H> permits;
            private final int number;
            private H hold;
            private int taken;
            private boolean stopped;

            Worker(VirtualRuntime process, Acquirable<H> permits, int number) {
                this.process = process;
                this.permits = permits;
                this.number = number;
                process.schedule(world.randomBelow(100_000_000L), this::ask);
            }

            private void ask() {
                if (stopped) {
                    return;
                }
                CompletableFuture<H> asked = world.chance(0.3)
                        ? permits.attemptAsync(Duration.ofMillis(world.randomBelow(900)))
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

            private void hold(H got) {
                hold = got;
                taken++;
                if (slots().size() != number) {
                    violations.add(slots() + " instead of " + number);
                }
                if (got.isValid()) {
                    slots().forEach(slot -> {
                        Long before = lastToken.put(slot, token(slot));
                        if (slot >= COUNT || (before != null && before >= token(slot))) {
                            violations.add("token " + token(slot) + " follows " + before + " on slot " + slot);
                        }
                    });
                }
                process.schedule(world.randomBelow(world.chance(0.1) ? 6_000_000_000L : 400_000_000L), () -> {
                    got.releaseAsync();
                    ask();
                });
            }

            private List<Integer> slots() {
                return hold instanceof MultiPermit several ? several.slots() : List.of(((Permit) hold).slot());
            }

            private long token(int slot) {
                return hold instanceof MultiPermit several
                        ? several.fencingToken(slot)
                        : ((Permit) hold).fencingToken();
            }

            boolean holds() {
                return hold != null && !process.hasCrashed() && hold.isValid();
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
                case 3 -> heal(way);
                case 4 -> processes.get(at).freeze(Duration.ofMillis(world.randomBelow(6_000)));
                default -> {
                    if (at == 0 && world.chance(0.05)) {
                        processes.get(0).crash();
                    }
                }
            }
        }

        private static void heal(FaultyNode way) {
            way.requests().heal();
            way.replies().heal();
        }

        private void check() {
            List<Integer> slots = workers.stream()
                    .filter(Worker::holds)
                    .flatMap(worker -> worker.slots().stream())
                    .toList();
            assertThat(slots).as("the slots of valid permits").doesNotHaveDuplicates();
            assertThat(slots).hasSizeLessThanOrEqualTo(COUNT);
            assertThat(violations).isEmpty();
        }

        private int takenBySeveral() {
            return workers.stream()
                    .filter(worker -> worker.number > 1)
                    .mapToInt(worker -> worker.taken)
                    .sum();
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
                heal(way);
            });
            int before = takenBySeveral();
            assertThat(world.runUntil(() -> takenBySeveral() > before + 6, Duration.ofMinutes(2)))
                    .as("once the faults are over, three of four are taken again")
                    .isTrue();
            workers.forEach(worker -> worker.stopped = true);
            world.runFor(Duration.ofSeconds(30));
            check();
            assertThat(node.permits().orElseThrow().list("*", 10).join())
                    .as("nothing is left")
                    .isEmpty();
            assertThat(node.waiters(NAME.asPermits(), 10).join())
                    .as("no waiter is left")
                    .isEmpty();
        }
    }

    /** One request for all permits, or one for each; nothing is held in between. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void threeOfFourAreTakenTogetherOrNotAtAll(boolean atOnce) {
        PrintStream errors = System.err;
        // Every fault is logged.
        System.setErr(new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8));
        try {
            for (long seed = 1; seed <= WORLDS; seed++) {
                play(seed, atOnce);
            }
        } finally {
            System.setErr(errors);
        }
    }

    private static void play(long seed, boolean atOnce) {
        try {
            new Play(seed, atOnce).run();
        } catch (RuntimeException | AssertionError e) {
            throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
        }
    }
}
