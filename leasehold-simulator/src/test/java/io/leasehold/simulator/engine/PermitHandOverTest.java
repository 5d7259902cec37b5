package io.leasehold.simulator.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Attempt;
import io.leasehold.HoldEnd;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.MultiPermit;
import io.leasehold.Permit;
import io.leasehold.PermitCountException;
import io.leasehold.Renewal;
import io.leasehold.admin.PermitsStatus;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Permits are handed over: they begin from the message, which names their slots, and none is left in the end. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class PermitHandOverTest {

    private static final Duration FOR_LONG = Duration.ofMinutes(10);
    private static final LockName NAME = LockName.exactly("pool");
    /** A release, the message, a request and its answer take four messages of one millisecond each. */
    private static final long LAST_MICROS = 6_000;

    private static final Duration ONE_ROUND_TRIP = Lab.LATENCY.multipliedBy(2);

    private Lab lab = new Lab(31);

    private CompletableFuture<Attempt<Permit>> wants(Lab.Client client, int count) {
        CompletableFuture<Attempt<Permit>> attempt =
                client.locks.permits(NAME, count).attemptAsync(FOR_LONG);
        lab.world.runFor(Duration.ofMillis(100));
        return attempt;
    }

    private CompletableFuture<Attempt<MultiPermit>> wantsTwo(Lab.Client client) {
        CompletableFuture<Attempt<MultiPermit>> attempt =
                client.locks.permits(NAME, 3).several(2).attemptAsync(FOR_LONG);
        lab.world.runFor(Duration.ofMillis(50));
        return attempt;
    }

    private Duration since(long startNanos) {
        return Duration.ofNanos(lab.world.elapsedNanos() - startNanos);
    }

    private List<Integer> heldSlots() {
        Optional<PermitsStatus> status =
                lab.node.permits().orElseThrow().describe(NAME.asPermits()).join();
        return status.map(PermitsStatus::held).orElse(List.of()).stream()
                .map(PermitsStatus.HeldPermit::slot)
                .toList();
    }

    /** How long after the release of one client's permit the next client has it. */
    private Duration handOver(UnaryOperator<LockOptions> ofNext) {
        Permit held = wants(lab.client("holder"), 1).join().orElseThrow();
        CompletableFuture<Attempt<Permit>> next = wants(lab.client("next", ofNext), 1);
        long start = lab.world.elapsedNanos();
        held.releaseAsync();
        Permit permit = lab.world.runUntilDone(next).orElseThrow();
        assertThat(permit.slot()).isZero();
        assertThat(permit.fencingToken()).isGreaterThan(held.fencingToken());
        return since(start);
    }

    @Test
    void aReleaseReachesTheNextClientWithinOneRoundTrip() {
        assertThat(handOver(options -> options)).isBetween(ONE_ROUND_TRIP, ONE_ROUND_TRIP.plusNanos(100_000));
    }

    @Test
    void aPermitThatNothingRenewsOrThatMustOutlastItsClaimIsAskedFor() {
        List<UnaryOperator<LockOptions>> asking = List.of(
                options -> options.renewal(Renewal.none()),
                options -> options.lockDelay(Duration.ofSeconds(1)),
                options -> options.atLeast(Duration.ofSeconds(5)),
                options -> options.minimumValidity(Duration.ofSeconds(3)));
        for (UnaryOperator<LockOptions> change : asking) {
            lab = new Lab(31);
            assertThat(handOver(change)).isBetween(ONE_ROUND_TRIP.multipliedBy(2), ONE_ROUND_TRIP.multipliedBy(3));
        }
    }

    /** The renewal to the full ttl, and then those that follow, extend each slot. */
    @Test
    void theStoreKeepsEachSlotForAsLongAsThePermitsAreHeld() {
        MultiPermit held = wantsTwo(lab.client("holder")).join().orElseThrow();
        CompletableFuture<Attempt<MultiPermit>> next = wantsTwo(lab.client("next"));
        held.releaseAsync();
        MultiPermit permits = lab.world.runUntilDone(next).orElseThrow();
        assertThat(permits.slots()).isEqualTo(heldSlots()).containsExactly(0, 1);
        assertThat(permits.fencingToken(1)).isEqualTo(permits.fencingToken(0) + 1);
        lab.world.runFor(Duration.ofMinutes(1));
        assertThat(permits.isValid()).isTrue();
        assertThat(heldSlots()).containsExactly(0, 1);
        permits.releaseAsync();
        lab.world.runFor(Duration.ofMillis(50));
        assertThat(heldSlots()).isEmpty();
    }

    @Test
    void aReleaseBeforeTheRenewalFreesEachSlot() {
        MultiPermit held = wantsTwo(lab.client("holder")).join().orElseThrow();
        CompletableFuture<Attempt<MultiPermit>> next = wantsTwo(lab.client("next"));
        held.releaseAsync();
        lab.world.runUntilDone(next).orElseThrow().releaseAsync();
        lab.world.runFor(Duration.ofMillis(2));
        assertThat(heldSlots()).isEmpty();
    }

    @Test
    void aWaiterThatIsCancelledAtAnyMomentOfItsHandOverPassesEachSlotOn() {
        Lab.Client holder = lab.client("holder");
        Lab.Client leaving = lab.client("leaving");
        Lab.Client staying = lab.client("staying");
        for (long micros = 0; micros <= LAST_MICROS; micros += 125) {
            MultiPermit held = wantsTwo(holder).join().orElseThrow();
            CompletableFuture<Attempt<MultiPermit>> leaves = wantsTwo(leaving);
            CompletableFuture<Attempt<MultiPermit>> stays = wantsTwo(staying);
            held.releaseAsync();
            lab.world.runFor(Duration.ofNanos(micros * 1_000));
            if (!leaves.cancel(false)) {
                leaves.join().orElseThrow().releaseAsync();
            }
            long start = lab.world.elapsedNanos();
            MultiPermit permits = lab.world.runUntilDone(stays).orElseThrow();
            assertThat(since(start)).as("cancelled after %d µs", micros).isLessThan(Duration.ofMillis(20));
            assertThat(permits.slots()).isEqualTo(heldSlots());
            permits.releaseAsync();
            lab.world.runFor(Duration.ofMillis(50));
            assertThat(heldSlots()).isEmpty();
        }
    }

    @Test
    void aClientThatClosesAtAnyMomentOfItsHandOverPassesEachSlotOn() {
        Lab.Client holder = lab.client("holder");
        Lab.Client staying = lab.client("staying");
        for (long micros = 0; micros <= LAST_MICROS; micros += 500) {
            MultiPermit held = wantsTwo(holder).join().orElseThrow();
            Lab.Client leaving = lab.client("leaving-" + micros);
            CompletableFuture<Attempt<MultiPermit>> leaves = wantsTwo(leaving);
            CompletableFuture<Attempt<MultiPermit>> stays = wantsTwo(staying);
            held.releaseAsync();
            lab.world.runFor(Duration.ofNanos(micros * 1_000));
            leaving.locks.close();
            MultiPermit permits = lab.world.runUntilDone(stays).orElseThrow();
            assertThat(leaves).as("closed after %d µs", micros).isDone();
            assertThat(permits.slots()).isEqualTo(heldSlots());
            permits.releaseAsync();
            lab.world.runFor(Duration.ofMillis(50));
            assertThat(heldSlots()).isEmpty();
        }
    }

    /** The message is on its way: the permit begins from it, and the answer to its first renewal ends it. */
    @Test
    void aSlotThatAnOperatorFreesBeforeTheMessageArrivesIsLostAtTheFirstRenewal() {
        Permit held = wants(lab.client("holder"), 1).join().orElseThrow();
        CompletableFuture<Attempt<Permit>> next = wants(lab.client("next"), 1);
        CompletableFuture<Attempt<Permit>> behind = wants(lab.client("behind"), 1);
        held.releaseAsync();
        lab.world.runFor(Duration.ofNanos(1_500_000));
        assertThat(lab.node
                        .permits()
                        .orElseThrow()
                        .forceRelease(NAME.asPermits(), 0, null)
                        .join())
                .isTrue();
        Permit second = lab.world.runUntilDone(next).orElseThrow();
        Permit third = lab.world.runUntilDone(behind).orElseThrow();
        assertThat(third.fencingToken())
                .as("a resource that has seen this token refuses the other")
                .isGreaterThan(second.fencingToken());
        CompletableFuture<HoldEnd> end = second.whenEnded().toCompletableFuture();
        lab.world.runFor(Duration.ofMillis(100));
        assertThat(end)
                .isCompletedWithValueMatching(
                        how -> how instanceof HoldEnd.Lost lost && lost.cause() != LossCause.EXPIRED);
        assertThat(third.isValid()).isTrue();
    }

    /** A waiter that begins without a request would otherwise never meet the new count. */
    @Test
    void aWaiterThatStatesTheFormerCountIsRefusedWithBothNumbers() {
        for (int count : new int[] {2, 4}) {
            lab = new Lab(count);
            List<Permit> held = List.of(
                    wants(lab.client("one"), 3).join().orElseThrow(),
                    wants(lab.client("two"), 3).join().orElseThrow(),
                    wants(lab.client("three"), 3).join().orElseThrow());
            CompletableFuture<Attempt<Permit>> next = wants(lab.client("next"), 3);
            assertThat(lab.node
                            .permits()
                            .orElseThrow()
                            .change(NAME.asPermits(), count, 3)
                            .join())
                    .isTrue();
            held.get(0).releaseAsync();
            lab.world.runFor(Duration.ofMillis(50));
            assertThatThrownBy(next::join)
                    .hasCauseInstanceOf(PermitCountException.class)
                    .hasMessageContaining("3")
                    .hasMessageContaining(Integer.toString(count));
            assertThat(heldSlots()).as("nothing is left of it").containsExactly(1, 2);
        }
    }
}
