package io.leasehold.simulator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.AmbiguousExportException;
import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.LeaseTicket;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LockStoreException;
import io.leasehold.TicketRefusedException;
import io.leasehold.node.LockNode;
import io.leasehold.quorum.QuorumMember;
import io.leasehold.quorum.QuorumSettings;
import io.leasehold.quorum.QuorumStore;
import io.leasehold.simulator.SimulatedNode;
import io.leasehold.testkit.virtual.FaultyNode;
import io.leasehold.testkit.virtual.LinkFaults;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
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
 * Leases that travel over sets of three and five nodes, while messages are lost, doubled and late, clients and nodes stop,
 * and nodes forget everything: a ticket gives at most one lease, and no other client holds the lock in between.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("full")
final class QuorumTicketsTest {

    private static final LockName NAME = LockName.exactly("order:1001");
    private static final Duration TTL = Duration.ofSeconds(3);
    private static final Duration MAX_TTL = Duration.ofSeconds(6);
    private static final QuorumSettings SETTINGS = QuorumSettings.standard().maxTtl(MAX_TTL);
    private static final int ROUNDS = 6;

    /** How often each end was reached, over all worlds: an end that is never reached is not tested. */
    private static final class Tally {
        private int exported;
        private int unconfirmed;
        private int lost;
        private int resumed;
        private int refused;
        private int unknown;
        private int split;
        private int forgotten;

        @Override
        public String toString() {
            return exported + " exported, " + unconfirmed + " unconfirmed, " + lost + " lost, " + resumed + " resumed, "
                    + refused + " refused, " + unknown + " unknown, " + split + " split, " + forgotten + " forgotten";
        }
    }

    private static final class Play {
        private final Tally tally;
        private final VirtualWorld world;
        private final List<SimulatedNode> nodes = new ArrayList<>();
        private final List<VirtualRuntime> processes = new ArrayList<>();
        private final List<FaultyNode> links = new ArrayList<>();
        private final List<LockClient> clients = new ArrayList<>();
        private final List<Lease> shown = new ArrayList<>();
        private final List<Long> rivals = new ArrayList<>();
        private long lastToken;

        Play(int size, long seed, Tally tally) {
            this.tally = tally;
            world = VirtualWorld.seeded(seed);
            for (int i = 0; i < size; i++) {
                nodes.add(new SimulatedNode(world.process("node-" + i)));
            }
            QuorumStore operator = new QuorumStore(members(nodes), SETTINGS, world.process("operator"));
            operator.declareNew(Duration.ofSeconds(1).toNanos()).join();
            operator.close();
            for (int i = 0; i < 3; i++) {
                VirtualRuntime process = world.process("p" + i);
                List<FaultyNode> own = nodes.stream()
                        .map(node -> new FaultyNode(node, process, node.host()))
                        .toList();
                processes.add(process);
                links.addAll(own);
                clients.add(Leasehold.builder()
                        .store(new QuorumStore(members(own), SETTINGS, process))
                        .runtime(process)
                        .defaults(LockOptions.defaults().ttl(TTL))
                        .connect());
            }
            heal();
        }

        private static List<QuorumMember> members(List<? extends LockNode> nodes) {
            List<QuorumMember> members = new ArrayList<>();
            for (int i = 0; i < nodes.size(); i++) {
                members.add(QuorumMember.of(nodes.get(i), "node-" + i));
            }
            return members;
        }

        private <T> T any(List<T> all) {
            return all.get((int) world.randomBelow(all.size()));
        }

        private Lease show(Lease lease) {
            if (lease.isValid()) {
                assertThat(lease.fencingToken())
                        .as("a later lease has a larger token")
                        .isGreaterThan(lastToken);
                lastToken = lease.fencingToken();
            }
            shown.add(lease);
            return lease;
        }

        private void disturb() {
            switch ((int) world.randomBelow(8)) {
                case 0, 1, 2 ->
                    any(links)
                            .faults(LinkFaults.none()
                                    .delay(Duration.ofMillis(1), Duration.ofMillis(300))
                                    .loss(0.3)
                                    .duplication(0.3)
                                    .reordering(0.3)
                                    .lateReply(0.2)
                                    .resetAfterSend(0.2));
                case 3 -> any(links).requests().cut();
                case 4 -> any(links).replies().cut();
                case 5 -> any(processes).freeze(Duration.ofMillis(world.randomBelow(4_000)));
                case 6 -> any(nodes).host().freeze(Duration.ofMillis(world.randomBelow(2_000)));
                default -> {
                    if (world.chance(0.3)) {
                        tally.forgotten++;
                        any(nodes).crashAndLoseAll(Duration.ofMillis(1 + world.randomBelow(1_000)));
                    }
                }
            }
        }

        private void heal() {
            links.forEach(link -> {
                link.faults(LinkFaults.none().delay(Duration.ofMillis(1), Duration.ofMillis(4)));
                link.requests().heal();
                link.replies().heal();
            });
        }

        private void run(Duration span) {
            world.runFor(span);
            assertThat(shown.stream().filter(Lease::isValid)).hasSizeLessThanOrEqualTo(1);
        }

        private void awaitDone(CompletableFuture<?> future) {
            for (int i = 0; !future.isDone(); i++) {
                assertThat(i).as("the future is completed").isLessThan(2_000);
                if (world.chance(0.1)) {
                    disturb();
                } else if (world.chance(0.2)) {
                    heal();
                }
                run(Duration.ofMillis(20 + world.randomBelow(100)));
            }
        }

        private CompletableFuture<Void> rival(LockClient client) {
            return client.named(NAME).acquireAsync().thenCompose(lease -> {
                rivals.add(show(lease).fencingToken());
                CompletableFuture<Void> over = new CompletableFuture<>();
                world.after(
                        Duration.ofMillis(world.randomBelow(1_000)),
                        () -> lease.releaseAsync().thenAccept(outcome -> over.complete(null)));
                return over;
            });
        }

        void round() {
            heal();
            Lease first = show(world.runUntilDone(any(clients).named(NAME).acquireAsync()));
            List<CompletableFuture<Void>> waiting = List.of(rival(any(clients)), rival(any(clients)));
            run(Duration.ofMillis(world.randomBelow(3_000)));
            for (int faults = (int) world.randomBelow(4); faults > 0; faults--) {
                disturb();
            }
            CompletableFuture<LeaseTicket> exported =
                    first.exportAsync(Duration.ofMillis(1_000 + world.randomBelow(5_000)));
            assertThat(first.isValid()).isFalse();
            awaitDone(exported);
            if (exported.isCompletedExceptionally()) {
                Throwable why = exported.handle((ticket, error) -> error).join();
                tally.unconfirmed += why instanceof AmbiguousExportException ? 1 : 0;
                tally.lost += why instanceof LeaseLostException ? 1 : 0;
                assertThat(why).isInstanceOfAny(LeaseLostException.class, AmbiguousExportException.class);
            } else {
                tally.exported++;
                resume(first, exported.join());
            }
            heal();
            waiting.forEach(one -> assertThat(world.runUntil(one::isDone, Duration.ofMinutes(2)))
                    .as("the rivals are served in the end")
                    .isTrue());
        }

        /** Several claimants, some of them twice at a time or again. */
        private void resume(Lease first, LeaseTicket ticket) {
            List<CompletableFuture<Lease>> asked = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                Duration maxWait = Duration.ofMillis(world.randomBelow(4_000));
                asked.add(any(clients).resumeAsync(ticket, maxWait).thenApply(this::show));
                if (world.chance(0.5)) {
                    run(Duration.ofMillis(world.randomBelow(500)));
                }
            }
            asked.forEach(this::awaitDone);
            List<Lease> won = new ArrayList<>();
            for (CompletableFuture<Lease> one : asked) {
                Throwable why = one.handle((lease, error) -> error).join();
                if (why == null) {
                    won.add(one.join());
                    continue;
                }
                Throwable cause = why.getCause() == null || why instanceof LockStoreException ? why : why.getCause();
                boolean isRefused = cause instanceof TicketRefusedException;
                tally.refused += isRefused ? 1 : 0;
                tally.unknown += cause instanceof LockStoreException && !isRefused ? 1 : 0;
                tally.split += String.valueOf(cause.getMessage()).contains("split") ? 1 : 0;
                assertThat(cause).isInstanceOfAny(TicketRefusedException.class, LockStoreException.class);
            }
            assertThat(won).as("a ticket is used at most once").hasSizeLessThanOrEqualTo(1);
            for (Lease second : won) {
                tally.resumed++;
                assertThat(rivals)
                        .as("no other client held the lock between export and resume")
                        .noneMatch(token -> token > first.fencingToken() && token < second.fencingToken());
                run(Duration.ofMillis(world.randomBelow(3_000)));
                second.releaseAsync();
            }
        }

        void run() {
            for (int i = 0; i < ROUNDS; i++) {
                round();
            }
            run(MAX_TTL.multipliedBy(3));
            for (SimulatedNode node : nodes) {
                assertThat(node.describe(NAME).join()).as("nothing is left").isEmpty();
                assertThat(node.problems()).isEmpty();
            }
        }
    }

    @Test
    void threeNodes() {
        Tally tally = play(3, 80);
        assertThat(tally.exported).isGreaterThan(150);
        assertThat(List.of(tally.resumed, tally.refused)).allMatch(times -> times > 50);
        assertThat(List.of(tally.unknown, tally.forgotten)).allMatch(times -> times > 10);
        assertThat(tally.unconfirmed).isPositive();
    }

    @Test
    void fiveNodes() {
        Tally tally = play(5, 40);
        assertThat(List.of(tally.resumed, tally.refused)).allMatch(times -> times > 30);
    }

    private static Tally play(int size, int worlds) {
        PrintStream errors = System.err;
        // Every fault is logged.
        System.setErr(new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8));
        Tally tally = new Tally();
        try {
            for (long seed = 1; seed <= worlds; seed++) {
                play(size, seed, tally);
            }
        } finally {
            System.setErr(errors);
        }
        System.out.println("tickets over " + size + " nodes: " + tally);
        return tally;
    }

    private static void play(int size, long seed, Tally tally) {
        try {
            new Play(size, seed, tally).run();
        } catch (RuntimeException | AssertionError e) {
            throw new AssertionError("seed " + seed, e);
        }
    }
}
