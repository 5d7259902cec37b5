package io.leasehold.verify.liveness;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** The service of clients: every wait, and the grants in each second. Any thread may use it. */
final class TurnCounts {

    private static final int ROUNDS = 20;

    private final int clients;
    private final long holdNanos;
    private final long roundNanos;
    private final long[] grantsInSecond;
    private final long[] grantsOfClient;
    private final List<Long> waits = new ArrayList<>();
    private long lastToken;
    private int regressions;

    /**
     * Creates counts without grants.
     *
     * @param roundNanos the median duration of an acquire without contention
     */
    TurnCounts(int clients, int seconds, long holdNanos, long roundNanos) {
        this.clients = clients;
        this.holdNanos = holdNanos;
        this.roundNanos = roundNanos;
        this.grantsInSecond = new long[seconds];
        this.grantsOfClient = new long[clients];
    }

    synchronized void granted(int client, long sinceStartNanos, long waitedNanos, long token) {
        int second = (int) (sinceStartNanos / 1_000_000_000L);
        if (second < grantsInSecond.length) {
            grantsInSecond[second]++;
            grantsOfClient[client]++;
            waits.add(waitedNanos);
        }
        regressions += token <= lastToken ? 1 : 0;
        lastToken = token;
    }

    private long percentile(int percent) {
        long[] sorted = waits.stream().mapToLong(Long::longValue).sorted().toArray();
        return sorted.length == 0 ? Long.MAX_VALUE : sorted[Math.min(sorted.length - 1, sorted.length * percent / 100)];
    }

    /** 20 rounds, and the holds of the others. */
    private long boundNanos() {
        return ROUNDS * roundNanos + (clients - 1) * holdNanos;
    }

    synchronized boolean isLive() {
        return Arrays.stream(grantsInSecond).min().orElse(0) > 0 && percentile(99) <= boundNanos() && regressions == 0;
    }

    synchronized String line() {
        return String.format(
                Locale.ROOT,
                "liveness: clients=%d seconds=%d grants=%d least-in-a-second=%d least-of-a-client=%d most-of-a-client=%d"
                        + " hold=%.1fms round=%.2fms wait-p50=%.2fms wait-p99=%.2fms bound=%.2fms wait-max=%.2fms"
                        + " token-regressions=%d: %s",
                clients,
                grantsInSecond.length,
                waits.size(),
                Arrays.stream(grantsInSecond).min().orElse(0),
                Arrays.stream(grantsOfClient).min().orElse(0),
                Arrays.stream(grantsOfClient).max().orElse(0),
                holdNanos / 1e6,
                roundNanos / 1e6,
                percentile(50) / 1e6,
                percentile(99) / 1e6,
                boundNanos() / 1e6,
                percentile(100) / 1e6,
                regressions,
                isLive() ? "served" : "NOT SERVED AS ASKED");
    }
}
