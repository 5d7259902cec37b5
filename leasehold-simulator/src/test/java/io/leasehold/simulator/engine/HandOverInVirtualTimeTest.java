package io.leasehold.simulator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.node.PassingNode;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.testkit.virtual.FaultyNode;
import io.leasehold.testkit.virtual.LinkFaults;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Any process may leave at any moment: the lock is handed over. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class HandOverInVirtualTimeTest {

    private static final Duration FOR_LONG = Duration.ofMinutes(10);
    /** A release, its hand-over, the recheck and its reply take four messages of one millisecond each. */
    private static final long LAST_MICROS = 6_000;

    private final Lab lab = new Lab(12);

    private Duration since(long startNanos) {
        return Duration.ofNanos(lab.world.elapsedNanos() - startNanos);
    }

    @Test
    void aReleaseReachesTheNextClientWithinOneRoundTrip() throws InterruptedException {
        Lease held = lab.client("holder").acquire();
        CompletableFuture<Attempt<Lease>> next = lab.client("next").attempt(FOR_LONG);
        lab.world.runFor(Duration.ofMillis(100));
        long start = lab.world.elapsedNanos();

        held.releaseAsync();
        lab.world.runUntilDone(next);

        assertThat(since(start))
                .isBetween(
                        Lab.LATENCY.multipliedBy(2), Lab.LATENCY.multipliedBy(2).plusNanos(100_000));
    }

    @Test
    void aWaiterThatIsCancelledAtAnyMomentOfItsHandOverPassesTheLockOn() throws InterruptedException {
        Lab.Client holder = lab.client("holder");
        Lab.Client leaving = lab.client("leaving");
        Lab.Client staying = lab.client("staying");
        for (long micros = 0; micros <= LAST_MICROS; micros += 125) {
            Lease held = holder.acquire();
            CompletableFuture<Attempt<Lease>> leaves = leaving.attempt(FOR_LONG);
            lab.world.runFor(Duration.ofMillis(50));
            CompletableFuture<Attempt<Lease>> stays = staying.attempt(FOR_LONG);
            lab.world.runFor(Duration.ofMillis(50));

            held.releaseAsync();
            lab.world.runFor(Duration.ofNanos(micros * 1_000));
            if (!leaves.cancel(false)) {
                leaves.join().orElseThrow().releaseAsync();
            }
            long start = lab.world.elapsedNanos();
            Lease lease = lab.world.runUntilDone(stays).orElseThrow();

            assertThat(since(start)).as("cancelled after %d µs", micros).isLessThan(Duration.ofMillis(20));
            assertThat(lease.fencingToken()).isGreaterThan(held.fencingToken());
            lease.releaseAsync();
            lab.world.runFor(Duration.ofMillis(50));
            assertThat(lab.isHeld()).isFalse();
        }
    }

    @Test
    void aClientThatClosesAtAnyMomentOfItsHandOverPassesTheLockOn() throws InterruptedException {
        Lab.Client holder = lab.client("holder");
        Lab.Client staying = lab.client("staying");
        for (long micros = 0; micros <= LAST_MICROS; micros += 500) {
            Lease held = holder.acquire();
            Lab.Client leaving = lab.client("leaving-" + micros);
            CompletableFuture<Attempt<Lease>> leaves = leaving.attempt(FOR_LONG);
            lab.world.runFor(Duration.ofMillis(50));
            CompletableFuture<Attempt<Lease>> stays = staying.attempt(FOR_LONG);
            lab.world.runFor(Duration.ofMillis(50));

            held.releaseAsync();
            lab.world.runFor(Duration.ofNanos(micros * 1_000));
            leaving.locks.close();
            Lease lease = lab.world.runUntilDone(stays).orElseThrow();

            assertThat(leaves).as("closed after %d µs", micros).isDone();
            lease.releaseAsync();
            lab.world.runFor(Duration.ofMillis(50));
            assertThat(lab.isHeld()).isFalse();
        }
    }

    @Test
    void patienceThatEndsAtAnyMomentOfTheHandOverPassesTheLockOn() throws InterruptedException {
        Lab.Client holder = lab.client("holder");
        Lab.Client leaving = lab.client("leaving");
        Lab.Client staying = lab.client("staying");
        for (long micros = 0; micros <= LAST_MICROS; micros += 125) {
            Lease held = holder.acquire();
            CompletableFuture<Attempt<Lease>> leaves =
                    leaving.attempt(Duration.ofMillis(100).plusNanos(micros * 1_000));
            lab.world.runFor(Duration.ofMillis(50));
            CompletableFuture<Attempt<Lease>> stays = staying.attempt(FOR_LONG);
            lab.world.runFor(Duration.ofMillis(50));

            held.releaseAsync();
            lab.world.runUntilDone(leaves);
            Lease early = leaves.join().orElseNull();
            if (early != null) {
                early.releaseAsync();
            }
            long start = lab.world.elapsedNanos();
            lab.world.runUntilDone(stays).orElseThrow().releaseAsync();

            assertThat(since(start)).as("patience of 100 ms + %d µs", micros).isLessThan(Duration.ofMillis(20));
            lab.world.runFor(Duration.ofMillis(50));
            assertThat(lab.isHeld()).isFalse();
        }
    }

    @Test
    void aWaiterThatNeverComesCostsItsClaim() throws InterruptedException {
        Lease held = lab.client("holder").acquire();
        Lab.Client gone = lab.client("gone");
        gone.attempt(FOR_LONG);
        lab.world.runFor(Duration.ofMillis(50));
        CompletableFuture<Attempt<Lease>> next = lab.client("next").attempt(FOR_LONG);
        lab.world.runFor(Duration.ofMillis(50));
        gone.link.requests().cut();
        long start = lab.world.elapsedNanos();

        held.releaseAsync();
        lab.world.runUntilDone(next);

        // A claim, and the recheck of the next waiter.
        assertThat(since(start)).isLessThanOrEqualTo(Duration.ofMillis(3_000 + 3_700));
    }

    @Test
    void ballotsRiseAlsoWhenTheEstimateOfTheNodesClockFalls() throws InterruptedException {
        Lab.Client holder = lab.client("holder");
        holder.acquire();
        VirtualRuntime process = lab.world.process("waiter");
        FaultyNode link = new FaultyNode(lab.node, process, lab.host);
        Map<OwnerToken, List<Long>> sent = new HashMap<>();
        LockClient waiter = Leasehold.builder()
                .store(new SingleNodeStore(
                        new PassingNode(link) {
                            @Override
                            public CompletableFuture<NodeReply> acquire(Ballot ballot) {
                                sent.computeIfAbsent(ballot.request().owner(), o -> new ArrayList<>())
                                        .add(ballot.candidate());
                                return super.acquire(ballot);
                            }
                        },
                        process))
                .runtime(process)
                .defaults(LockOptions.defaults().ttl(Lab.TTL).recheck(Duration.ofMillis(20)))
                .connect();
        // Slow to the node: its clock seems to be 400 ms further than it is. Then fast.
        link.requests().faults(LinkFaults.none().delay(Duration.ofMillis(400), Duration.ofMillis(400)));
        CompletableFuture<Attempt<Lease>> waiting = waiter.named(Lab.LOCK).attemptAsync(Duration.ofSeconds(2));
        lab.world.runFor(Duration.ofMillis(810));
        link.faults(LinkFaults.none().delay(Lab.LATENCY, Lab.LATENCY));

        lab.world.runUntilDone(waiting);

        assertThat(sent).hasSize(1);
        List<Long> ballots = sent.values().iterator().next();
        assertThat(ballots).hasSizeGreaterThan(10).doesNotHaveDuplicates().isSorted();
        List<Long> steps = new ArrayList<>();
        for (int i = 1; i < ballots.size(); i++) {
            steps.add(ballots.get(i) - ballots.get(i - 1));
        }
        assertThat(steps).as("the estimate fell behind what had been proposed").contains(1L);
    }
}
