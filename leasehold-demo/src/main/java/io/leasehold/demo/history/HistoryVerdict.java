package io.leasehold.demo.history;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * The verdict on the histories of all workers and the counter's last value. Pure: it knows nothing about locks, only
 * the workers' records.
 *
 * <p>A worker holds from its acquisition to the earliest of these: its release, its loss, and the last end of the
 * validity that it knew. A killed worker holds to that end: no other may hold earlier.
 *
 * @param holds the number of holds
 * @param overlaps the pairs of workers that held at the same time, as text
 * @param tokens the number of holds with a fencing token
 * @param tokenDisorders the tokens that were not larger than all earlier ones, as text
 * @param increments the number of increments that workers recorded
 * @param unfinished the writes of the counter that may or may not have happened, since the writer was killed
 * @param counter the counter's last value
 * @param rejected the number of accesses that the counter refused because of a stale token
 * @param losses the workers that were notified of the end of their lease, with the cause
 * @param lockedOut the workers that gave up a lock without a holder that will never be free
 */
public record HistoryVerdict(
        int holds,
        List<String> overlaps,
        int tokens,
        List<String> tokenDisorders,
        long increments,
        long unfinished,
        long counter,
        long rejected,
        List<String> losses,
        List<String> lockedOut) {

    /** Copies the lists. */
    public HistoryVerdict {
        overlaps = List.copyOf(overlaps);
        tokenDisorders = List.copyOf(tokenDisorders);
        losses = List.copyOf(losses);
        lockedOut = List.copyOf(lockedOut);
    }

    /** The possible promises of a lock; its store decides which of them it gives. */
    public enum Promise {
        /** No two workers hold at the same time. */
        EXCLUSION,
        /** Each fencing token is larger than all earlier ones. */
        TOKENS,
        /** The counter shows every increment, and no other. */
        UPDATES,
        /** No worker is locked out forever. */
        PROGRESS
    }

    /** All promises. */
    public static final Set<Promise> ALL = Set.of(Promise.values());

    /** A time during which one worker held, or believed it held. */
    private record Holding(String worker, long fencingToken, long fromNanos, long untilNanos) {

        static int byStart(Holding one, Holding other) {
            return Long.signum(one.fromNanos - other.fromNanos);
        }
    }

    /**
     * Judges these events. The order between workers does not matter; the events of each worker must be in its own
     * order.
     */
    public static HistoryVerdict of(List<HistoryEvent> events, long counter) {
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
                counter,
                count(events, HistoryEvent.Kind.REJECTED),
                words(events, HistoryEvent.Kind.LOST),
                words(events, HistoryEvent.Kind.LOCKED_OUT));
    }

    private static List<String> words(List<HistoryEvent> events, HistoryEvent.Kind kind) {
        return events.stream()
                .filter(event -> event.kind() == kind)
                .map(event -> event.detail().equals(HistoryEvent.NO_DETAIL)
                        ? event.worker()
                        : event.worker() + ": " + event.detail())
                .toList();
    }

    private static long count(List<HistoryEvent> events, HistoryEvent.Kind kind) {
        return events.stream().filter(event -> event.kind() == kind).count();
    }

    private static List<Holding> holdings(List<HistoryEvent> ofOne) {
        List<Holding> holdings = new ArrayList<>();
        HistoryEvent acquired = null;
        long validUntilNanos = 0;
        for (HistoryEvent event : ofOne) {
            if (acquired != null && ends(event)) {
                add(holdings, acquired, end(event, acquired, validUntilNanos));
                acquired = null;
            }
            if (event.kind() == HistoryEvent.Kind.ACQUIRED) {
                acquired = event;
                validUntilNanos = event.validUntilNanos();
            } else if (event.isValid()) {
                // Later actions of its holder do not restart a hold that has ended.
                validUntilNanos = event.validUntilNanos();
            }
        }
        if (acquired != null) {
            add(holdings, acquired, isTimed(acquired) ? validUntilNanos : lastWord(ofOne));
        }
        return holdings;
    }

    private static boolean ends(HistoryEvent event) {
        return switch (event.kind()) {
            case READY, WAITING, ACQUIRED, RELEASED, LOST -> true;
            case WRITING, INCREMENTED, REJECTED, LOCKED_OUT -> false;
        };
    }

    /** Whether the hold ends by itself, even if it had ended before its holder could record it. */
    private static boolean isTimed(HistoryEvent acquired) {
        return acquired.fencingToken() > 0 || acquired.isValid();
    }

    private static long lastWord(List<HistoryEvent> ofOne) {
        return ofOne.get(ofOne.size() - 1).atNanos();
    }

    /**
     * The end of the hold that this event ends. Without a lock there is no validity, and only the worker's record counts.
     */
    private static long end(HistoryEvent ending, HistoryEvent acquired, long validUntilNanos) {
        boolean valid = !isTimed(acquired) || ending.isValid();
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

    /** The number of increments that the counter does not show. */
    public long lostUpdates() {
        return Math.max(0, increments - counter);
    }

    /** The number of increments that the counter shows but no worker made. */
    public long inventedUpdates() {
        return Math.max(0, counter - increments - unfinished);
    }

    /** Whether this promise was kept. */
    public boolean kept(Promise promise) {
        return switch (promise) {
            case EXCLUSION -> overlaps.isEmpty();
            case TOKENS -> tokenDisorders.isEmpty();
            case UPDATES -> lostUpdates() == 0 && inventedUpdates() == 0;
            case PROGRESS -> lockedOut.isEmpty();
        };
    }

    /** Whether all these promises were kept; false if there were no actions. */
    public boolean held(Set<Promise> promises) {
        return holds > 0 && increments > 0 && promises.stream().allMatch(this::kept);
    }

    /** A duration as readable text. */
    public static String seconds(long nanos) {
        return String.format(Locale.ROOT, "%.2f s", nanos / 1e9);
    }
}
