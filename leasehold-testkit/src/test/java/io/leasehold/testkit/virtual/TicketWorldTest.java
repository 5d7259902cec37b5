package io.leasehold.testkit.virtual;

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
 * Tests with leases that travel between processes whose messages are lost, duplicated and late, and which stop for a
 * while: a ticket gives at most one lease, and no other client holds the lock in between.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class TicketWorldTest {

    private static final LockName NAME = LockName.exactly("order:1001");
    private static final Duration TTL = Duration.ofSeconds(3);
    private static final int WORLDS = 150;
    private static final int ROUNDS = 6;

    /** How often each end was reached, over all worlds: an end that is never reached is not tested. */
    private static final class Tally {
        private int exported;
        private int unconfirmed;
        private int resumed;
        private int refused;
        private int unknown;
        private int overtaken;
    }

    private static final class Play {
        private final Tally tally;
        private final VirtualWorld world;
        private final InMemoryNode node;
        private final List<VirtualRuntime> processes = new ArrayList<>();
        private final List<FaultyNode> ways = new ArrayList<>();
        private final List<LockClient> clients = new ArrayList<>();
        private final List<Lease> shown = new ArrayList<>();
        private final List<Long> rivals = new ArrayList<>();
        private long lastToken;

        Play(long seed, Tally tally) {
            this.tally = tally;
            world = VirtualWorld.seeded(seed);
            VirtualRuntime host = world.process("node");
            node = new InMemoryNode(host);
            for (int i = 0; i < 3; i++) {
                VirtualRuntime process = world.process("p" + i);
                FaultyNode way = new FaultyNode(node, process, host);
                processes.add(process);
                ways.add(way);
                clients.add(Leasehold.builder()
                        .store(new SingleNodeStore(way, process))
                        .runtime(process)
                        .defaults(LockOptions.defaults().ttl(TTL))
                        .connect());
            }
        }

        private int any() {
            return (int) world.randomBelow(processes.size());
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
            FaultyNode way = ways.get(any());
            switch ((int) world.randomBelow(5)) {
                case 0, 1 ->
                    way.faults(LinkFaults.none()
                            .delay(Duration.ofMillis(1), Duration.ofMillis(300))
                            .loss(0.3)
                            .duplication(0.3)
                            .reordering(0.3)
                            .lateReply(0.2)
                            .resetAfterSend(0.2));
                case 2 -> way.requests().cut();
                case 3 -> way.replies().cut();
                default -> processes.get(any()).freeze(Duration.ofMillis(world.randomBelow(4_000)));
            }
        }

        private void heal() {
            ways.forEach(way -> {
                way.faults(LinkFaults.none());
                way.requests().heal();
                way.replies().heal();
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
            Lease first = show(world.runUntilDone(clients.get(any()).named(NAME).acquireAsync()));
            List<CompletableFuture<Void>> waiting = List.of(rival(clients.get(any())), rival(clients.get(any())));
            run(Duration.ofMillis(world.randomBelow(3_000)));
            if (world.chance(0.7)) {
                disturb();
            }
            CompletableFuture<LeaseTicket> exported =
                    first.exportAsync(Duration.ofMillis(1_000 + world.randomBelow(8_000)));
            assertThat(first.isValid()).isFalse();
            awaitDone(exported);
            if (exported.isCompletedExceptionally()) {
                Throwable why = exported.handle((ticket, error) -> error).join();
                tally.unconfirmed += why instanceof AmbiguousExportException ? 1 : 0;
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
                asked.add(clients.get(any()).resumeAsync(ticket, maxWait).thenApply(this::show));
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
                } else {
                    Throwable cause =
                            why.getCause() == null || why instanceof LockStoreException ? why : why.getCause();
                    tally.refused += cause instanceof TicketRefusedException ? 1 : 0;
                    tally.unknown += cause instanceof LockStoreException ? 1 : 0;
                    assertThat(cause).isInstanceOfAny(TicketRefusedException.class, LockStoreException.class);
                }
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
            tally.overtaken += won.isEmpty() ? 1 : 0;
        }

        void run() {
            for (int i = 0; i < ROUNDS; i++) {
                round();
            }
            run(TTL.multipliedBy(5));
            assertThat(node.admin().describe(NAME).join()).as("nothing is left").isEmpty();
        }
    }

    @Test
    void aTicketGivesAtMostOneLeaseAndNoOtherClientHoldsInBetween() {
        PrintStream errors = System.err;
        // Every fault is logged.
        System.setErr(new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8));
        Tally tally = new Tally();
        try {
            for (long seed = 1; seed <= WORLDS; seed++) {
                play(seed, tally);
            }
        } finally {
            System.setErr(errors);
        }
        assertThat(tally.exported).isGreaterThan(300);
        assertThat(List.of(tally.resumed, tally.refused)).allMatch(times -> times > 100);
        assertThat(List.of(tally.unknown, tally.overtaken)).allMatch(times -> times > 10);
        assertThat(tally.unconfirmed).isPositive();
    }

    private static void play(long seed, Tally tally) {
        try {
            new Play(seed, tally).run();
        } catch (RuntimeException | AssertionError e) {
            throw new AssertionError("seed " + seed, e);
        }
    }
}
