package io.leasehold.testkit.virtual;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Candidacy;
import io.leasehold.HandOverOutcome;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.Term;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.SingleNodeStore;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Tests with candidates of several processes in one election, whose messages are lost, duplicated and late, and whose
 * processes stop and die.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class ElectionWorldTest {

    private static final LockName NAME = LockName.exactly("scheduler");
    private static final Duration TTL = Duration.ofSeconds(3);
    private static final int WORLDS = 100;

    private static final class Play {
        private final VirtualWorld world;
        private final VirtualRuntime host;
        private final InMemoryNode node;
        private final List<VirtualRuntime> processes = new ArrayList<>();
        private final List<FaultyNode> ways = new ArrayList<>();
        private final List<Candidate> candidates = new ArrayList<>();
        private long lastToken;
        private int terms;
        private int handedOver;
        /** Whether a hand-over was refused or reported wrongly. */
        private boolean wrongly;

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
                candidates.add(new Candidate(process, client));
                candidates.add(new Candidate(process, client));
            }
        }

        private final class Candidate {
            private final VirtualRuntime process;
            private final LockClient client;
            private final Candidacy candidacy;
            private Term term;
            private CompletableFuture<Void> work = CompletableFuture.completedFuture(null);

            Candidate(VirtualRuntime process, LockClient client) {
                this.process = process;
                this.client = client;
                this.candidacy = client.election(NAME).standAsync(this::lead);
            }

            private CompletionStage<Void> lead(Term begun) {
                assertThat(work).as("its former callback has returned").isDone();
                term = begun;
                work = new CompletableFuture<>();
                terms++;
                if (begun.isValid()) {
                    assertThat(begun.fencingToken())
                            .as("a later term is larger")
                            .isGreaterThan(lastToken);
                    lastToken = begun.fencingToken();
                }
                process.schedule(world.randomBelow(4_000_000_000L), this::stop);
                begun.onEnd(end -> process.schedule(world.randomBelow(500_000_000L), this::stop));
                return work;
            }

            /** Hands over to any candidate, which may be of this process, dead, or no candidate at all. */
            private void handOver() {
                Candidate heir = candidates.get((int) world.randomBelow(candidates.size()));
                String id = world.chance(0.1) ? "unknown" : heir.client.holderId();
                candidacy.handOverAsync(id).whenComplete((outcome, error) -> {
                    boolean isNamed = outcome == HandOverOutcome.HANDED_OVER;
                    handedOver += isNamed ? 1 : 0;
                    wrongly |= isNamed && id.equals("unknown");
                    wrongly |= (error != null) != id.equals(client.holderId());
                });
            }

            private void stop() {
                if (world.chance(0.1)) {
                    work.completeExceptionally(new IllegalStateException("made by the test"));
                } else {
                    work.complete(null);
                }
            }

            boolean leads() {
                return term != null && !work.isDone() && !process.hasCrashed() && term.isValid();
            }
        }

        private void disturb() {
            int at = (int) world.randomBelow(processes.size());
            FaultyNode way = ways.get(at);
            switch ((int) world.randomBelow(8)) {
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
                case 5 ->
                    candidates
                            .get((int) world.randomBelow(candidates.size()))
                            .candidacy
                            .resignAsync();
                case 6 ->
                    candidates.stream().filter(Candidate::leads).findFirst().ifPresent(Candidate::handOver);
                default -> {
                    if (at == 0 && world.chance(0.05)) {
                        processes.get(0).crash();
                    }
                }
            }
        }

        void run() {
            for (int i = 0; i < 120; i++) {
                if (world.chance(0.3)) {
                    disturb();
                }
                world.runFor(Duration.ofMillis(50 + world.randomBelow(400)));
                assertThat(candidates.stream().filter(Candidate::leads)).hasSizeLessThanOrEqualTo(1);
            }
            ways.forEach(way -> {
                way.faults(LinkFaults.none());
                way.requests().heal();
                way.replies().heal();
            });
            int before = terms;
            assertThat(world.runUntil(() -> terms > before + 3, Duration.ofMinutes(2)))
                    .as("once the faults are over, there are leaders again")
                    .isTrue();
            candidates.stream()
                    .filter(candidate -> !candidate.process.hasCrashed())
                    .forEach(candidate -> {
                        CompletableFuture<Void> closed = candidate.candidacy.closeAsync();
                        assertThat(world.runUntil(closed::isDone, Duration.ofMinutes(1)))
                                .isTrue();
                    });
            world.runFor(TTL.multipliedBy(2));
            assertThat(wrongly).isFalse();
            assertThat(node.admin().describe(NAME).join()).as("nothing is left").isEmpty();
        }
    }

    @Test
    void noTwoLeadAndNoneLeadsTwiceAtATime() {
        PrintStream errors = System.err;
        // Every fault is logged.
        System.setErr(new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8));
        try {
            int handedOver = 0;
            for (long seed = 1; seed <= WORLDS; seed++) {
                handedOver += play(seed);
            }
            assertThat(handedOver).as("hand-overs to a named candidate").isGreaterThan(WORLDS / 2);
        } finally {
            System.setErr(errors);
        }
    }

    /** Returns how often a leader has handed over to the candidate that it named. */
    private static int play(long seed) {
        try {
            Play play = new Play(seed);
            play.run();
            return play.handedOver;
        } catch (RuntimeException | AssertionError e) {
            throw new AssertionError("seed " + seed, e);
        }
    }
}
