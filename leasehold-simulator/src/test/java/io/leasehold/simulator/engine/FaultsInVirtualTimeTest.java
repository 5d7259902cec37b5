package io.leasehold.simulator.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.Renewal;
import io.leasehold.StoreUnavailableException;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.node.PassingNode;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.StoreSignals;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The effects of the network and of pauses on one lease, step by step. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class FaultsInVirtualTimeTest {

    private static final Duration VALIDITY = Duration.ofMillis(9_898);

    private final Lab lab = new Lab(12);

    @Test
    void aLostReplyIsRetriedWithTheSameOwnerToken() throws InterruptedException {
        Lab.Client client = lab.client("client");
        lab.client("warm-up").acquire().release();
        client.link.replies().cut();
        CompletableFuture<Attempt<Lease>> future = client.attempt(Duration.ofMinutes(1));
        lab.world.runFor(Duration.ofMillis(500));
        client.link.replies().heal();
        Lease lease = lab.world.runUntilDone(future).orElseThrow();
        assertThat(lease.isValid()).isTrue();
        assertThat(lab.world.elapsed()).isLessThan(Duration.ofSeconds(5));
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void aLostRequestIsRetried() throws InterruptedException {
        Lab.Client client = lab.client("client");
        client.acquire().release();
        client.link.requests().cut();
        CompletableFuture<Attempt<Lease>> future = client.attempt(Duration.ofMinutes(1));
        lab.world.runFor(Duration.ofMillis(500));
        client.link.requests().heal();
        assertThat(lab.world.runUntilDone(future).orElseThrow().isValid()).isTrue();
    }

    @Test
    void anOutcomeThatStaysUnknownIsToldAndUndone() throws InterruptedException {
        Lab.Client client = lab.client("client");
        client.acquire().release();
        client.link.replies().cut();
        CompletableFuture<Lease> future = client.locks.named(Lab.LOCK).acquireAsync();
        lab.world.runFor(Lab.TTL.plusSeconds(2));
        assertThat(future).isCompletedExceptionally();
        assertThatThrownBy(future::join).hasCauseInstanceOf(AmbiguousAcquireException.class);
        assertThat(lab.isHeld()).as("requests arrive, so the undo does").isFalse();
    }

    @Test
    void anUndoIsRepeatedUntilItIsAnswered() throws InterruptedException {
        Lab.Client client = lab.client("client", o -> o.ttl(Duration.ofMinutes(5)));
        client.acquire().release();
        client.link.replies().cut();
        CompletableFuture<Lease> future = client.locks.named(Lab.LOCK).acquireAsync();
        lab.world.runFor(Duration.ofMillis(20));
        assertThat(lab.isHeld()).isTrue();
        client.link.requests().cut();
        future.cancel(false);
        lab.world.runFor(Duration.ofSeconds(30));
        assertThat(lab.isHeld()).as("the undo was lost again and again").isTrue();
        client.link.requests().heal();
        lab.world.runFor(Duration.ofSeconds(5));
        assertThat(lab.isHeld()).isFalse();
    }

    @Test
    void aRefusedConnectionIsUnavailableAndNotAmbiguous() {
        Lab.Client client = lab.client("client");
        client.link.refuseConnections();
        CompletableFuture<Attempt<Lease>> future = client.attempt(Duration.ofSeconds(3));
        lab.world.runFor(Duration.ofSeconds(4));
        assertThatThrownBy(future::join).hasCauseInstanceOf(StoreUnavailableException.class);
        client.link.acceptConnections();
        assertThat(lab.world
                        .runUntilDone(client.attempt(Duration.ofSeconds(3)))
                        .orElseThrow()
                        .isValid())
                .isTrue();
    }

    @Test
    void aFailedRenewalIsTriedAgain() throws InterruptedException {
        Lab.Client client = lab.client("client");
        Lease lease = client.acquire();
        List<Duration> risks = new ArrayList<>();
        lease.onAtRisk(risks::add);
        lab.world.runFor(Duration.ofMillis(2_900));
        client.link.requests().cut();
        lab.world.runFor(Duration.ofMillis(5_500));
        assertThat(lease.isValid()).isTrue();
        assertThat(risks).as("told once that it is at risk").hasSize(1);
        assertThat(risks.get(0)).isBetween(Duration.ofMillis(1), VALIDITY.minusSeconds(5));
        client.link.requests().heal();
        lab.world.runFor(Duration.ofSeconds(60));
        assertThat(lease.isValid()).isTrue();
        assertThat(risks).hasSize(1);
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void lostContactPutsALeaseAtRiskAtOnceAndOnlyThat() throws InterruptedException {
        VirtualRuntime process = lab.world.process("holder");
        List<StoreSignals> ears = new ArrayList<>();
        List<OwnerToken> owners = new ArrayList<>();
        PassingNode sessions = new PassingNode(lab.node) {
            @Override
            public void listen(StoreSignals signals) {
                ears.add(signals);
                super.listen(signals);
            }

            @Override
            public CompletableFuture<NodeReply> acquire(Ballot ballot) {
                owners.add(ballot.request().owner());
                return super.acquire(ballot);
            }
        };
        LockClient client = Leasehold.builder()
                .store(new SingleNodeStore(sessions, process))
                .runtime(process)
                .defaults(LockOptions.defaults().ttl(Lab.TTL))
                .connect();
        Lease lease = client.named(Lab.LOCK).acquire();
        Lease other = client.named("another").acquire();
        List<String> told = new ArrayList<>();
        lease.onAtRisk(left -> told.add("at risk, " + left.toMillis() + " ms left"));
        other.onAtRisk(left -> told.add("the other one"));
        lab.world.runFor(Duration.ofMillis(500));

        ears.get(0).suspended(owners.get(0));
        lab.world.runFor(Duration.ofMillis(1));

        assertThat(told).containsExactly("at risk, " + VALIDITY.minusMillis(500).toMillis() + " ms left");
        assertThat(lease.isValid()).isTrue();
        lab.world.runFor(Duration.ofSeconds(60));
        assertThat(lease.isValid()).as("renewed as usual").isTrue();
        ears.get(0).suspended(owners.get(0));
        lab.world.runFor(Duration.ofMillis(1));
        assertThat(told).as("told again after a renewal").hasSize(2);
        lease.release();
        ears.get(0).suspended(owners.get(0));
        lab.world.runFor(Duration.ofMillis(1));
        assertThat(told).hasSize(2);
    }

    @Test
    void aLossIsToldWhenTheValidityEndsAlthoughTheStoreHangs() throws InterruptedException {
        Lab.Client client = lab.client("client");
        long before = lab.world.elapsedNanos();
        Lease lease = client.acquire();
        List<String> told = new ArrayList<>();
        lease.onAtRisk(left -> told.add("at risk"));
        lease.onLost(cause -> told.add(cause + " at " + (lab.world.elapsedNanos() - before) / 1_000_000));
        client.link.requests().stall();
        lab.world.runFor(Duration.ofSeconds(60));
        // A first acquire probes the node's clock before it sends: its ttl counts from after that.
        assertThat(told).containsExactly("at risk", "EXPIRED at " + (VALIDITY.toMillis() + 2));
        assertThat(lease.isValid()).isFalse();
    }

    @Test
    void aLeaseIsNotValidRightAfterALongPause() throws InterruptedException {
        Lab.Client client = lab.client("client");
        Lease lease = client.acquire();
        client.process.pause(VALIDITY.minusMillis(10));
        assertThat(lease.isValid()).isTrue();
        client.process.pause(Duration.ofMillis(20));
        assertThat(lease.isValid())
                .as("before any event of the process has run")
                .isFalse();
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
    }

    @Test
    void aPausedHolderIsNotValidWhenItsSuccessorHolds() throws InterruptedException {
        Lab.Client paused = lab.client("paused");
        Lease lease = paused.acquire();
        CompletableFuture<Attempt<Lease>> next = lab.client("next").attempt(Duration.ofMinutes(1));
        lab.world.runFor(Duration.ofSeconds(1));
        paused.process.freeze(Duration.ofSeconds(30));
        Lease successor = lab.world.runUntilDone(next).orElseThrow();
        assertThat(lease.isValid()).isFalse();
        assertThat(successor.fencingToken()).isGreaterThan(lease.fencingToken());
        lab.world.runFor(Duration.ofSeconds(60));
        assertThat(successor.isValid())
                .as("what the paused one sent on waking did no harm")
                .isTrue();
    }

    /** A pause of several ttls at each step of an acquire, a renewal and a release. */
    @Test
    void aPauseAtAnyStepLeavesOneHolder() {
        for (long micros = 0; micros < 9_000; micros += 300) {
            Lab fresh = new Lab(micros);
            Lab.Client client = fresh.client("client", o -> o.ttl(Duration.ofSeconds(1)));
            Lab.Client other = fresh.client("other", o -> o.ttl(Duration.ofSeconds(1)));
            List<Lease> mine = new ArrayList<>();
            client.attempt(Duration.ofSeconds(30)).thenAccept(a -> mine.add(a.orElseThrow()));
            long step = micros;
            fresh.world.after(Duration.ofNanos(step * 1_000), () -> client.process.freeze(Duration.ofSeconds(5)));
            fresh.world.runFor(Duration.ofMillis(20));
            CompletableFuture<Attempt<Lease>> others = other.attempt(Duration.ofSeconds(60));
            boolean done = fresh.world.runUntil(others::isDone, Duration.ofSeconds(10));
            if (done) {
                assertThat(mine.stream().anyMatch(Lease::isValid))
                        .as("paused %d µs into the acquire: two hold", step)
                        .isFalse();
                others.join().orElseThrow().releaseAsync();
            }
            mine.forEach(Lease::releaseAsync);
            fresh.world.runFor(Duration.ofSeconds(20));
            mine.forEach(Lease::releaseAsync);
            fresh.world.runFor(Duration.ofSeconds(5));
            assertThat(fresh.isHeld())
                    .as("paused %d µs into the acquire: left behind", step)
                    .isFalse();
        }
    }

    @Test
    void aReleaseDuringARenewalEndsTheLease() throws InterruptedException {
        for (long micros = 0; micros < 4_000; micros += 250) {
            Lab fresh = new Lab(micros);
            Lab.Client client = fresh.client("client");
            Lease lease = client.acquire();
            CompletableFuture<Void> renewal = lease.renewAsync();
            fresh.world.runFor(Duration.ofNanos(micros * 1_000));
            CompletableFuture<ReleaseOutcome> release = lease.releaseAsync();
            assertThat(fresh.world.runUntilDone(release)).isEqualTo(ReleaseOutcome.RELEASED);
            fresh.world.runFor(Duration.ofSeconds(1));
            assertThat(renewal).isDone();
            assertThat(fresh.isHeld())
                    .as("released %d µs into a renewal", micros)
                    .isFalse();
        }
    }

    @Test
    void aReleaseWithoutAnAnswerIsUnconfirmedAndRepeated() throws InterruptedException {
        Lab.Client client = lab.client("client");
        Lease lease = client.acquire();
        client.link.requests().cut();
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.UNCONFIRMED);
        assertThat(lease.isValid()).isFalse();
        assertThat(lab.isHeld()).isTrue();
        lab.world.runFor(Duration.ofSeconds(2));
        client.link.requests().heal();
        lab.world.runFor(Duration.ofSeconds(2));
        assertThat(lab.isHeld()).isFalse();
        assertThat(lease.release()).as("the first outcome stays").isEqualTo(ReleaseOutcome.UNCONFIRMED);
    }

    @Test
    void stepsOfTheWallClockEndNoLease() throws InterruptedException {
        Lab.Client client = lab.client("client");
        Lease lease = client.acquire();
        for (int hours : new int[] {-1, 1, 1, -1}) {
            client.process.stepWallClock(Duration.ofHours(hours));
            lab.host.stepWallClock(Duration.ofHours(-hours));
            lab.world.runFor(Duration.ofSeconds(45));
            assertThat(lease.isValid()).isTrue();
        }
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void aSuspendedMachineDoesNotBelieveInItsLease() throws InterruptedException {
        Lab.Client client = lab.client("client");
        Lease lease = client.acquire();
        List<LossCause> told = new ArrayList<>();
        lease.onLost(told::add);
        client.process.suspend(Duration.ofMinutes(1));
        lab.world.runFor(Duration.ofMinutes(1));
        assertThat(lease.isValid()).as("the node has long given the lock away").isFalse();
        lab.world.runFor(Duration.ofSeconds(1));
        assertThat(told).containsExactly(LossCause.NOT_OURS);
    }

    @Test
    void aSuspensionDuringTheAcquireIsNoticed() throws InterruptedException {
        Lab.Client client = lab.client("client");
        client.acquire().release();
        lab.world.runFor(Duration.ofSeconds(5));
        CompletableFuture<Attempt<Lease>> future = client.attempt(Duration.ofMinutes(5));
        lab.world.runFor(Duration.ofNanos(1_500_000));
        client.process.suspend(Duration.ofMinutes(1));
        Lease lease = lab.world.runUntilDone(future).orElseThrow();
        assertThat(lease.isValid())
                .as("the node gave it away a minute ago, unless it was asked again")
                .isEqualTo(lab.isHeld());
    }

    @Test
    void aShortSuspensionIsSurvivedByARenewal() throws InterruptedException {
        Lab.Client client = lab.client("client");
        Lease lease = client.acquire();
        client.process.suspend(Duration.ofSeconds(2));
        lab.world.runFor(Duration.ofSeconds(2));
        assertThat(lease.isValid()).as("not confirmed yet").isFalse();
        lab.world.runFor(Duration.ofSeconds(2));
        assertThat(lease.isValid()).as("confirmed by a renewal").isTrue();
    }

    @Test
    void aLeaseWithoutRenewalEndsOnTimeAndTheLockIsFreeAfterwards() throws InterruptedException {
        Lab.Client client = lab.client("client", o -> o.renewal(Renewal.none()));
        Lease lease = client.acquire();
        CompletableFuture<Attempt<Lease>> next = lab.client("next").attempt(Duration.ofMinutes(1));
        lab.world.runUntilDone(next);
        assertThat(lease.isValid()).isFalse();
        assertThat(lab.world.elapsed()).isBetween(Lab.TTL, Lab.TTL.plusSeconds(3));
    }

    @Test
    void nothingIsLeftBehindByAClosedClient() throws InterruptedException {
        Lab.Client client = lab.client("client");
        for (int i = 0; i < 100; i++) {
            client.acquire().release();
        }
        client.acquire();
        client.locks.close();
        lab.world.runFor(Duration.ofHours(1));
        assertThat(lab.world.pendingEvents()).isZero();
        assertThat(lab.isHeld()).isFalse();
    }
}
