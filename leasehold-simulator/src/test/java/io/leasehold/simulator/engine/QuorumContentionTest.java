package io.leasehold.simulator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Three clients take turns at one lock of five nodes, in virtual time. With frozen nodes it takes at most twice as long
 * as with none, even when the clients first meet the frozen nodes. No client is served before the others repeatedly.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class QuorumContentionTest {

    private static final int CLIENTS = 3;
    private static final int TURNS = 5;
    private static final int RUNS = 30;
    private static final Duration HOLD = Duration.ofMillis(1);

    /**
     * The medians of several runs.
     *
     * @param tookNanos the time for all turns
     * @param again the fraction of turns that follow one of the same client
     */
    private record Measured(long tookNanos, double again) {}

    private static Measured measured(String what, int frozen, boolean known) {
        List<Long> took = new ArrayList<>();
        List<Long> waits = new ArrayList<>();
        int again = 0;
        for (int seed = 1; seed <= RUNS; seed++) {
            QuorumTurns set = new QuorumTurns(seed, 5, HOLD);
            took.add(turnsNanos(set, frozen, known));
            for (int i = 0; i < set.turns.size(); i++) {
                QuorumTurns.Turn turn = set.turns.get(i);
                waits.add(turn.waitedNanos());
                again += i > 0 && turn.client().equals(set.turns.get(i - 1).client()) ? 1 : 0;
            }
        }
        long[] sorted = waits.stream().mapToLong(Long::longValue).sorted().toArray();
        took.sort(null);
        Measured measured = new Measured(took.get(RUNS / 2), again / (double) (RUNS * (CLIENTS * TURNS - 1)));
        System.out.printf(
                "%s: %d turns of %d clients take %.1f ms, %.2f of them after one of the same client, wait p50 %.1f ms, p99 %.1f%n",
                what,
                CLIENTS * TURNS,
                CLIENTS,
                measured.tookNanos() / 1e6,
                measured.again(),
                sorted[sorted.length / 2] / 1e6,
                sorted[sorted.length * 99 / 100] / 1e6);
        return measured;
    }

    /** Lets the clients take their turns, after each has held the lock once, while nodes freeze. */
    private static long turnsNanos(QuorumTurns set, int frozen, boolean known) {
        List<QuorumTurns.Client> clients = new ArrayList<>();
        for (int i = 0; i < CLIENTS; i++) {
            clients.add(set.client("client-" + i, options -> options));
        }
        holdOnce(set, clients);
        for (int i = 0; i < frozen; i++) {
            set.servers.get(4 - i).host().freeze(Duration.ofHours(1));
        }
        if (known) {
            holdOnce(set, clients);
        }
        long began = set.world.elapsedNanos();
        for (QuorumTurns.Client client : clients) {
            int[] left = {TURNS};
            client.takeTurns(() -> left[0]-- > 0);
        }
        set.world.runUntil(() -> set.turns.size() == CLIENTS * TURNS, Duration.ofMinutes(2));
        assertThat(set.turns).hasSize(CLIENTS * TURNS);
        return set.world.elapsedNanos() - began;
    }

    private static void holdOnce(QuorumTurns set, List<QuorumTurns.Client> clients) {
        for (QuorumTurns.Client client : clients) {
            client.acquired().releaseAsync();
            set.world.runFor(Duration.ofMillis(300));
        }
    }

    @Test
    void frozenNodesAtMostDoubleTheTimeOfContendedTurns() {
        Measured healthy = measured("all five nodes answer", 0, false);
        for (Measured frozen : Arrays.asList(
                measured("one of five has frozen", 1, false),
                measured("two of five have frozen", 2, false),
                measured("one of five is known to be frozen", 1, true),
                measured("two of five are known to be frozen", 2, true))) {
            assertThat(frozen.tookNanos()).isLessThanOrEqualTo(2 * healthy.tookNanos());
            // A random choice would give a third.
            assertThat(frozen.again()).isLessThan(0.2);
        }
    }
}
