package io.leasehold.testkit.virtual;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.SharedLock;
import io.leasehold.WriteLease;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.SingleNodeStore;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Tests with readers and writers of several processes, whose messages are lost, duplicated and late, and whose processes
 * stop and die: no writer is valid with another lease, tokens follow the rule, and nothing is left.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class ReadWriteWorldTest {

    private static final LockName NAME = LockName.exactly("catalog");
    private static final Duration TTL = Duration.ofSeconds(3);
    private static final int WORLDS = 150;

    private static final class Play {
        private final VirtualWorld world;
        private final VirtualRuntime host;
        private final InMemoryNode node;
        private final List<VirtualRuntime> processes = new ArrayList<>();
        private final List<FaultyNode> ways = new ArrayList<>();
        private final List<Worker> workers = new ArrayList<>();
        private final List<String> violations = new ArrayList<>();
        private long highestOfAll;
        private long highestOfWriters;
        private int reads;
        private int writes;
        private int downgrades;

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
                for (int k = 0; k < 4; k++) {
                    workers.add(new Worker(process, client.readWrite(NAME), k == 0));
                }
            }
        }

        /** Reads or writes for a while, and begins again; it sometimes gives up, and a writer sometimes goes on as a reader. */
        private final class Worker {
            private final VirtualRuntime process;
            private final SharedLock lock;
            private final boolean writes;
            private Lease lease;
            private boolean isWriter;
            private boolean stopped;

            Worker(VirtualRuntime process, SharedLock lock, boolean writes) {
                this.process = process;
                this.lock = lock;
                this.writes = writes;
                process.schedule(world.randomBelow(100_000_000L), this::ask);
            }

            private void ask() {
                if (stopped) {
                    return;
                }
                CompletableFuture<? extends Lease> asked = writes ? write() : read();
                if (world.chance(0.1)) {
                    process.schedule(world.randomBelow(500_000_000L), () -> asked.cancel(false));
                }
                asked.whenComplete((got, error) -> {
                    if (got == null) {
                        process.schedule(world.randomBelow(200_000_000L), this::ask);
                    } else {
                        hold(got, writes);
                    }
                });
            }

            private CompletableFuture<Lease> read() {
                return world.chance(0.2)
                        ? lock.read()
                                .attemptAsync(Duration.ofMillis(world.randomBelow(600)))
                                .thenApply(attempt -> attempt.orElseNull())
                        : lock.read().acquireAsync();
            }

            private CompletableFuture<WriteLease> write() {
                return world.chance(0.2)
                        ? lock.write()
                                .attemptAsync(Duration.ofMillis(world.randomBelow(600)))
                                .thenApply(attempt -> attempt.orElseNull())
                        : lock.write().acquireAsync();
            }

            private void hold(Lease got, boolean asWriter) {
                lease = got;
                isWriter = asWriter;
                if (got.isValid()) {
                    note(got.fencingToken(), asWriter);
                }
                long forNanos = world.randomBelow(world.chance(0.2) ? 8_000_000_000L : 800_000_000L);
                process.schedule(forNanos, () -> {
                    if (got instanceof WriteLease writer && world.chance(0.4)) {
                        writer.downgradeAsync().whenComplete((reader, error) -> {
                            if (reader == null) {
                                ask();
                            } else {
                                downgrades++;
                                hold(reader, false);
                            }
                        });
                    } else {
                        got.releaseAsync();
                        ask();
                    }
                });
            }

            boolean holds() {
                return lease != null && !process.hasCrashed() && lease.isValid();
            }
        }

        private void note(long token, boolean asWriter) {
            long floor = asWriter ? highestOfAll : highestOfWriters;
            if (token <= floor) {
                violations.add("token " + token + (asWriter ? " of a writer" : " of a reader") + " follows " + floor);
            }
            highestOfAll = Math.max(highestOfAll, token);
            if (asWriter) {
                highestOfWriters = token;
                writes++;
            } else {
                reads++;
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
            List<Worker> holding = workers.stream().filter(Worker::holds).toList();
            long writing = holding.stream().filter(worker -> worker.isWriter).count();
            assertThat(writing == 0 || holding.size() == 1)
                    .as("%d of %d valid leases are writers'", writing, holding.size())
                    .isTrue();
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
            int read = reads;
            int written = writes;
            assertThat(world.runUntil(() -> reads > read + 20 && writes > written + 3, Duration.ofMinutes(2)))
                    .as("once the faults are over, both kinds are granted again")
                    .isTrue();
            workers.forEach(worker -> worker.stopped = true);
            world.runFor(Duration.ofSeconds(30));
            assertThat(node.describe(NAME).join()).as("nothing is left").isEmpty();
            assertThat(node.readers(NAME, 10).join()).as("no reader is left").isEmpty();
            assertThat(node.waiters(NAME, 10).join()).as("no waiter is left").isEmpty();
        }
    }

    @Test
    void noWriterIsValidWithAnotherLease() {
        int downgrades = 0;
        PrintStream errors = System.err;
        // Every fault is logged.
        System.setErr(new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8));
        try {
            for (long seed = 1; seed <= WORLDS; seed++) {
                downgrades += play(seed);
            }
        } finally {
            System.setErr(errors);
        }
        assertThat(downgrades).as("downgrades that succeeded").isGreaterThan(WORLDS);
    }

    private static int play(long seed) {
        try {
            Play play = new Play(seed);
            play.run();
            return play.downgrades;
        } catch (RuntimeException | AssertionError e) {
            throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
        }
    }
}
