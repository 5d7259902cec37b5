package io.leasehold.demo.history;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

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
 * @param rejected how often the counter refused a worker whose token was stale
 * @param losses who heard that its lease had ended, and why, in words
 * @param lockedOut who gave up a lock that nobody holds and nobody will ever free
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

    /** What a lock can promise; which of it one does promise depends on its store. */
    public enum Promise {
        /** No two hold at the same time. */
        EXCLUSION,
        /** Each fencing token is larger than all before. */
        TOKENS,
        /** The counter shows every increment, and no other. */
        UPDATES,
        /** Nobody is locked out for ever. */
        PROGRESS
    }

    /** All of it. */
    public static final Set<Promise> ALL = Set.of(Promise.values());

    /** A time during which one worker held, or believed so. */
    private record Holding(String worker, long fencingToken, long fromNanos, long untilNanos) {

        static int byStart(Holding one, Holding other) {
            return Long.signum(one.fromNanos - other.fromNanos);
        }
    }

    /** Judges these events, in any order between workers and in its own order for each. */
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
                // One that is over does not begin again with whatever its holder does later.
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

    /** Whether it is a hold that ends by itself, also if it was over before its holder could say so. */
    private static boolean isTimed(HistoryEvent acquired) {
        return acquired.fencingToken() > 0 || acquired.isValid();
    }

    private static long lastWord(List<HistoryEvent> ofOne) {
        return ofOne.get(ofOne.size() - 1).atNanos();
    }

    /**
     * When the hold ended that this event ends. Without a lock there is no validity, and the worker's word is all there is.
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

    /** How many increments the counter does not show. */
    public long lostUpdates() {
        return Math.max(0, increments - counter);
    }

    /** How much the counter shows that nobody did. */
    public long inventedUpdates() {
        return Math.max(0, counter - increments - unfinished);
    }

    /** Whether this was kept. */
    public boolean kept(Promise promise) {
        return switch (promise) {
            case EXCLUSION -> overlaps.isEmpty();
            case TOKENS -> tokenDisorders.isEmpty();
            case UPDATES -> lostUpdates() == 0 && inventedUpdates() == 0;
            case PROGRESS -> lockedOut.isEmpty();
        };
    }

    /** Whether all of these were kept; nothing done proves nothing. */
    public boolean held(Set<Promise> promises) {
        return holds > 0 && increments > 0 && promises.stream().allMatch(this::kept);
    }

    /** A span of time for people. */
    public static String seconds(long nanos) {
        return String.format(Locale.ROOT, "%.2f s", nanos / 1e9);
    }
}
