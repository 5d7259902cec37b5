package io.leasehold.simulator.history;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The merged history of all processes, ordered by time. Immutable. */
public final class History {

    private final List<HistoryEvent> events;

    private History(Collection<HistoryEvent> events) {
        List<HistoryEvent> sorted = new ArrayList<>(events);
        // Stable: events of one process at the same nanosecond keep their order.
        sorted.sort(Comparator.comparingLong(HistoryEvent::atNanos));
        this.events = List.copyOf(sorted);
    }

    /** Merges these events; those of one process must be in the order of recording. */
    public static History of(Collection<HistoryEvent> events) {
        return new History(events);
    }

    /**
     * Reads and merges files. Skips an incomplete last line, which a killed process may leave.
     *
     * @throws UncheckedIOException if a file cannot be read
     * @throws IllegalArgumentException if a line is not an event; the message has its file and number
     */
    public static History read(Collection<Path> files) {
        List<HistoryEvent> events = new ArrayList<>();
        for (Path file : files) {
            String text;
            try {
                text = Files.readString(file, StandardCharsets.UTF_8);
            } catch (IOException e) {
                throw new UncheckedIOException("history file " + file + " cannot be read", e);
            }
            int number = 0;
            int from = 0;
            for (int end; (end = text.indexOf('\n', from)) >= 0; from = end + 1) {
                number++;
                try {
                    events.add(HistoryLine.read(text.substring(from, end)));
                } catch (IllegalArgumentException e) {
                    throw new IllegalArgumentException(file + ", line " + number + ": " + e.getMessage(), e);
                }
            }
        }
        return new History(events);
    }

    /** All events. */
    public List<HistoryEvent> events() {
        return events;
    }

    /** The same events as the lines of a {@link HistoryFile}. */
    public String text() {
        StringBuilder text = new StringBuilder(events.size() * 96);
        events.forEach(event -> text.append(HistoryLine.write(event)).append('\n'));
        return text.toString();
    }

    /** The number of acquired leases. */
    public long acquisitions() {
        return events.stream().filter(HistoryEvent.Acquired.class::isInstance).count();
    }

    /** The tokens of leases of this lock, not of its readers, that are above the one and below the other. */
    public List<Long> tokensBetween(String lock, long above, long below) {
        return events.stream()
                .filter(HistoryEvent.Acquired.class::isInstance)
                .map(HistoryEvent.Acquired.class::cast)
                .filter(one -> one.lock().equals(lock) && one.token() > above && one.token() < below)
                .map(HistoryEvent.Acquired::token)
                .toList();
    }

    /** The spans of leases that exclude all others of their lock: {@link #allSpansByLock} without readers. */
    Map<String, List<LeaseSpan>> spansByLock() {
        Map<String, List<LeaseSpan>> exclusive = allSpansByLock();
        exclusive.keySet().removeIf(LeaseText::isRead);
        return exclusive;
    }

    /** The spans during which holders believed in their leases, by lock, ordered by their beginnings. */
    Map<String, List<LeaseSpan>> allSpansByLock() {
        Map<LeaseKey, LeaseSpan> open = new HashMap<>();
        List<LeaseSpan> all = new ArrayList<>();
        for (HistoryEvent event : events) {
            if (event instanceof HistoryEvent.Acquired e) {
                LeaseSpan span = new LeaseSpan(e.process(), e.lock(), e.token(), e.atNanos(), e.untilAtNanos());
                all.add(span);
                open.put(new LeaseKey(e.process(), e.lock(), e.token()), span);
            } else if (event instanceof HistoryEvent.Extended e) {
                LeaseSpan span = open.get(new LeaseKey(e.process(), e.lock(), e.token()));
                if (span != null) {
                    span.extend(e.untilAtNanos());
                }
            } else if (event instanceof HistoryEvent.Ended e) {
                LeaseSpan span = open.remove(new LeaseKey(e.process(), e.lock(), e.token()));
                if (span != null) {
                    span.end(e.atNanos());
                }
            }
        }
        Map<String, List<LeaseSpan>> byLock = new java.util.TreeMap<>();
        for (LeaseSpan span : all) {
            byLock.computeIfAbsent(span.lock(), l -> new ArrayList<>()).add(span);
        }
        return byLock;
    }

    /** The times at which an operator released this lock by force, in order. */
    List<Long> forcedReleases(String lock) {
        return events.stream()
                .filter(event -> event instanceof HistoryEvent.Forced forced
                        && forced.lock().equals(lock))
                .map(HistoryEvent::atNanos)
                .toList();
    }

    private record LeaseKey(String process, String lock, long token) {}
}
