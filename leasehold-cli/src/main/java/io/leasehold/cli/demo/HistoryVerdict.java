package io.leasehold.cli.demo;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * What the histories of all workers and the counter's last value prove. Pure: it knows nothing of locks, only of what
 * the workers wrote down.
 *
 * <p>A worker holds from its acquisition to its release, its loss, or the end of the validity that it knew of last,
 * whichever comes first. A killed worker holds to the end of that validity: nobody may come in earlier.
 *
 * @param holds how many times a worker held
 * @param overlaps two workers that held at the same time, each pair in words
 * @param tokens how many holds had a fencing token
 * @param tokenDisorders tokens that were not larger than all before them, in words
 * @param increments how many times a worker says it has incremented the counter
 * @param unfinished writes of the counter of which nobody knows whether they happened, since the writer was killed
 * @param counter the counter's last value
 */
record HistoryVerdict(
        int holds,
        List<String> overlaps,
        int tokens,
        List<String> tokenDisorders,
        long increments,
        long unfinished,
        long counter) {

    /** Copies the lists. */
    HistoryVerdict {
        overlaps = List.copyOf(overlaps);
        tokenDisorders = List.copyOf(tokenDisorders);
    }

    /** A time during which one worker held, or believed so. */
    private record Holding(String worker, long fencingToken, long fromNanos, long untilNanos) {

        static int byStart(Holding one, Holding other) {
            return Long.signum(one.fromNanos - other.fromNanos);
        }
    }

    /** Judges these events, in any order between workers and in its own order for each. */
    static HistoryVerdict of(List<HistoryEvent> events, long counter) {
        Map<String, List<HistoryEvent>> byWorker = new HashMap<>();
        for (HistoryEvent event : events) {
            byWorker.computeIfAbsent(event.worker(), worker -> new ArrayList<>())
                    .add(event);
        }
        List<Holding> holdings = new ArrayList<>();
        long increments = 0;
        long unfinished = 0;
        for (List<HistoryEvent> ofOne : byWorker.values()) {
            holdings.addAll(holdings(ofOne));
            increments += count(ofOne, HistoryEvent.Kind.INCREMENTED);
            if (ofOne.get(ofOne.size() - 1).kind() == HistoryEvent.Kind.WRITING) {
                unfinished++;
            }
        }
        holdings.sort(Holding::byStart);
        long withToken =
                holdings.stream().filter(holding -> holding.fencingToken() > 0).count();
        return new HistoryVerdict(
                holdings.size(),
                overlaps(holdings),
                (int) withToken,
                disorders(holdings),
                increments,
                unfinished,
                counter);
    }

    private static long count(List<HistoryEvent> events, HistoryEvent.Kind kind) {
        return events.stream().filter(event -> event.kind() == kind).count();
    }

    private static List<Holding> holdings(List<HistoryEvent> ofOne) {
        List<Holding> holdings = new ArrayList<>();
        HistoryEvent acquired = null;
        long validUntilNanos = 0;
        for (HistoryEvent event : ofOne) {
            if (acquired != null && (!event.holds() || event.kind() == HistoryEvent.Kind.ACQUIRED)) {
                add(holdings, acquired, end(event, acquired, validUntilNanos));
                acquired = null;
            }
            if (event.kind() == HistoryEvent.Kind.ACQUIRED) {
                acquired = event;
            }
            validUntilNanos = event.validUntilNanos();
        }
        if (acquired != null) {
            add(holdings, acquired, validUntilNanos);
        }
        return holdings;
    }

    /**
     * When the hold ended that this event ends. Without a lock there is no validity, and the worker's word is all there is.
     */
    private static long end(HistoryEvent ending, HistoryEvent acquired, long validUntilNanos) {
        boolean valid = acquired.fencingToken() == 0 || ending.validUntilNanos() - ending.atNanos() > 0;
        boolean ended = !valid && validUntilNanos - ending.atNanos() < 0;
        return ended ? validUntilNanos : ending.atNanos();
    }

    /** A worker that was delayed until its lease had ended never held. */
    private static void add(List<Holding> holdings, HistoryEvent acquired, long untilNanos) {
        if (untilNanos - acquired.atNanos() > 0) {
            holdings.add(new Holding(acquired.worker(), acquired.fencingToken(), acquired.atNanos(), untilNanos));
        }
    }

    private static List<String> overlaps(List<Holding> holdings) {
        List<String> found = new ArrayList<>();
        for (int i = 0; i < holdings.size(); i++) {
            Holding first = holdings.get(i);
            for (Holding second : holdings.subList(i + 1, holdings.size())) {
                if (first.untilNanos() - second.fromNanos() > 0) {
                    long endNanos =
                            first.untilNanos() - second.untilNanos() < 0 ? first.untilNanos() : second.untilNanos();
                    found.add(first.worker() + " and " + second.worker() + " held at once, for "
                            + seconds(endNanos - second.fromNanos()));
                }
            }
        }
        return found;
    }

    private static List<String> disorders(List<Holding> holdings) {
        List<String> found = new ArrayList<>();
        long largest = 0;
        for (Holding holding : holdings) {
            if (holding.fencingToken() > 0 && holding.fencingToken() <= largest) {
                found.add(holding.worker() + " got token " + holding.fencingToken() + " after " + largest);
            }
            largest = Math.max(largest, holding.fencingToken());
        }
        return found;
    }

    /** How many increments the counter does not show. */
    long lostUpdates() {
        return Math.max(0, increments - counter);
    }

    /** How much the counter shows that nobody did. */
    long inventedUpdates() {
        return Math.max(0, counter - increments - unfinished);
    }

    /** Whether the lock did what it promises; nothing done proves nothing. */
    boolean held() {
        return holds > 0
                && increments > 0
                && overlaps.isEmpty()
                && tokenDisorders.isEmpty()
                && lostUpdates() == 0
                && inventedUpdates() == 0;
    }

    static String seconds(long nanos) {
        return String.format(Locale.ROOT, "%.2f s", nanos / 1e9);
    }
}
