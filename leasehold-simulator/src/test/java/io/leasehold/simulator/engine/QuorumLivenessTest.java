package io.leasehold.simulator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.LossCause;
import io.leasehold.Renewal;
import io.leasehold.testkit.virtual.FaultyNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The real engine over a quorum in virtual time: waiters are served, and a failing renewal is not retried forever. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class QuorumLivenessTest {

    private static final Duration HOLD = Duration.ofMillis(20);
    private static final long MILLI = 1_000_000L;

    /** The maximum duration of a round without rivals. */
    private static long roundNanos(QuorumTurns set) {
        QuorumTurns.Client alone = set.client("alone", options -> options);
        alone.acquired().releaseAsync();
        set.world.runFor(Duration.ofMillis(10));
        long most = 0;
        for (int i = 0; i < 50; i++) {
            long asked = set.world.elapsedNanos();
            Lease lease = alone.acquired();
            most = Math.max(most, set.world.elapsedNanos() - asked);
            lease.releaseAsync();
            set.world.runFor(Duration.ofMillis(10));
        }
        alone.locks.close();
        return most;
    }

    @Test
    void threeClientsOnFiveNodesAreServedInEverySecond() {
        QuorumTurns set = new QuorumTurns(7, 5, HOLD);
        long round = roundNanos(set);
        long end = 60_000_000_000L;
        for (int i = 0; i < 3; i++) {
            set.client("client-" + i, options -> options).takeTurns(() -> set.world.elapsedNanos() < end);
        }
        long began = set.world.elapsedNanos() / 1_000_000_000L + 1;
        set.world.runUntil(() -> set.world.elapsedNanos() > end, Duration.ofSeconds(90));
        long[] sorted = set.waits();
        int[] grantsInSecond = new int[60];
        set.turns.forEach(turn -> grantsInSecond[(int) Math.min(59, turn.atNanos() / 1_000_000_000L)]++);
        long p99 = sorted[sorted.length * 99 / 100];
        // Two others may be served first.
        long bound = 20 * round + 2 * HOLD.toNanos();
        System.out.printf(
                "three clients on five nodes, virtual time: %d grants, round %.2f ms, wait p50 %.2f ms, p99 %.2f ms of at most"
                        + " %.2f ms, least in a second %d%n",
                sorted.length,
                round / 1e6,
                sorted[sorted.length / 2] / 1e6,
                p99 / 1e6,
                bound / 1e6,
                Arrays.stream(grantsInSecond).skip(began).min().orElse(0));
        assertThat(Arrays.stream(grantsInSecond).skip(began).toArray())
                .as("grants in each second")
                .doesNotContain(0);
        assertThat(p99).as("the 99th of 100 waits").isLessThanOrEqualTo(bound);
    }

    /** Attempts within one validity are limited, evenly spread, and announced before the end. */
    @Test
    void renewalsThatFailAreTriedTenTimesWithinOneValidity() {
        QuorumTurns set = new QuorumTurns(7, 5, HOLD);
        QuorumTurns.Client client =
                set.client("client", options -> options.renewal(Renewal.every(Duration.ofSeconds(1))));
        assertThat(triesUntilItIsLost(set, client)).isEqualTo(10);
        QuorumTurns.Client frugal = set.client("frugal", options -> options.renewalTries(3));
        assertThat(triesUntilItIsLost(set, frugal)).isEqualTo(3);
    }

    private static int triesUntilItIsLost(QuorumTurns set, QuorumTurns.Client client) {
        Lease lease = client.acquired();
        List<Duration> risks = new ArrayList<>();
        List<LossCause> losses = new ArrayList<>();
        lease.onAtRisk(risks::add);
        lease.onLost(losses::add);
        client.links.forEach(FaultyNode::refuseConnections);
        int before = client.renewals.get();
        set.world.runUntil(() -> !losses.isEmpty(), Duration.ofSeconds(40));
        assertThat(losses).containsExactly(LossCause.EXPIRED);
        assertThat(risks).as("announced before").hasSize(1);
        assertThat(risks.get(0)).isPositive();
        int tries = client.renewals.get() - before;
        client.links.forEach(FaultyNode::acceptConnections);
        lease.releaseAsync();
        client.locks.close();
        set.world.runFor(Duration.ofSeconds(35));
        return tries;
    }

    /** maxHold ends a hold however well its renewals succeed, and is announced before. */
    @Test
    void maxHoldIsAnnouncedAndReached() {
        QuorumTurns set = new QuorumTurns(7, 3, HOLD);
        QuorumTurns.Client client = set.client(
                "client", options -> options.ttl(Duration.ofSeconds(10)).maxHold(Duration.ofSeconds(60)));
        long start = set.world.elapsedNanos();
        Lease lease = client.acquired();
        List<Duration> risks = new ArrayList<>();
        List<LossCause> losses = new ArrayList<>();
        lease.onAtRisk(risks::add);
        lease.onLost(losses::add);
        set.world.runUntil(() -> !losses.isEmpty(), Duration.ofSeconds(90));
        assertThat(losses).containsExactly(LossCause.MAX_HOLD);
        assertThat(risks).as("announced before").hasSize(1);
        assertThat(client.renewals.get()).as("it was renewed until then").isGreaterThan(10);
        assertThat(set.world.elapsedNanos() - start).isBetween(45_000 * MILLI, 60_000 * MILLI);
    }

    /** A step of this machine's wall clock changes nothing: neither tokens, nor holders, nor nodes. */
    @Test
    void ourWallClockHasNoInfluence() {
        QuorumTurns set = new QuorumTurns(7, 3, HOLD);
        QuorumTurns.Client client = set.client("client", options -> options);
        Lease before = client.acquired();
        before.releaseAsync();
        set.world.runFor(Duration.ofMillis(20));
        for (Duration step : List.of(Duration.ofHours(1), Duration.ofHours(-2))) {
            client.process.stepWallClock(step);
            Lease lease = client.acquired();
            long nodes = set.servers.get(0).host().wallMillis() * 1_000;
            assertThat(lease.fencingToken()).isBetween(nodes - 1_000_000, nodes + 1_000_000);
            assertThat(lease.fencingToken()).isGreaterThan(before.fencingToken());
            before = lease;
            lease.releaseAsync();
            set.world.runFor(Duration.ofMillis(20));
        }
        QuorumTurns.Client fresh = set.client("fresh", options -> options);
        fresh.process.stepWallClock(Duration.ofHours(5));
        Lease lease = fresh.acquired();
        long nodes = set.servers.get(0).host().wallMillis() * 1_000;
        assertThat(lease.fencingToken()).isBetween(nodes - 1_000_000, nodes + 1_000_000);
        lease.releaseAsync();
    }
}
