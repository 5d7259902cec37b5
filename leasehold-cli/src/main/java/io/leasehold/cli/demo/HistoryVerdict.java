package io.leasehold.cli.demo;

import io.leasehold.cli.demo.HistoryEvent.Kind;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * What a history says, and nothing but the history: pure.
 *
 * @param sections how often a worker was inside
 * @param workers how many were
 * @param killed how many were killed inside
 * @param overlaps pairs of sections of which one began before the other had ended
 * @param tokenDisorders sections whose fencing token is not larger than the one before it
 * @param lostUpdates counter writes that wiped out an earlier one
 * @param takeoverNanos from the kill to the next worker's entry, where there was a kill
 */
record HistoryVerdict(
        int sections,
        int workers,
        int killed,
        List<String> overlaps,
        int tokenDisorders,
        int lostUpdates,
        OptionalLong takeoverNanos) {

    HistoryVerdict {
        overlaps = List.copyOf(overlaps);
    }

    /** A worker's stay inside; it ends with what the history last has of it. */
    private record Section(int worker, long token, long fromNanos, long untilNanos, boolean killed) {}

    static HistoryVerdict of(List<HistoryEvent> history) {
        List<HistoryEvent> events = new ArrayList<>(history);
        events.sort(Comparator.comparingLong(HistoryEvent::atNanos));
        List<Section> sections = sections(events);
        return new HistoryVerdict(
                sections.size(),
                (int) sections.stream().mapToInt(Section::worker).distinct().count(),
                (int) sections.stream().filter(Section::killed).count(),
                overlaps(sections),
                tokenDisorders(sections),
                lostUpdates(events),
                takeover(events, sections));
    }

    private static List<Section> sections(List<HistoryEvent> events) {
        List<Section> sections = new ArrayList<>();
        Map<Integer, HistoryEvent> inside = new LinkedHashMap<>();
        for (HistoryEvent event : events) {
            if (event.kind() == Kind.ENTERS) {
                inside.put(event.worker(), event);
                continue;
            }
            HistoryEvent entry = event.kind() == Kind.WAITS ? null : inside.remove(event.worker());
            if (entry != null) {
                sections.add(new Section(
                        entry.worker(), entry.token(), entry.atNanos(), event.atNanos(), event.kind() == Kind.KILLED));
            }
        }
        // Whoever never left was inside at its entry, and nothing more is known of it.
        for (HistoryEvent entry : inside.values()) {
            sections.add(new Section(entry.worker(), entry.token(), entry.atNanos(), entry.atNanos(), false));
        }
        sections.sort(Comparator.comparingLong(Section::fromNanos));
        return sections;
    }

    private static List<String> overlaps(List<Section> sections) {
        List<String> overlaps = new ArrayList<>();
        for (int i = 0; i < sections.size(); i++) {
            Section one = sections.get(i);
            for (Section other : sections.subList(i + 1, sections.size())) {
                if (other.fromNanos() < one.untilNanos()) {
                    overlaps.add(String.format(
                            Locale.ROOT,
                            "worker %d entered %d ms before worker %d had left",
                            other.worker(),
                            (one.untilNanos() - other.fromNanos()) / 1_000_000,
                            one.worker()));
                }
            }
        }
        return overlaps;
    }

    private static int tokenDisorders(List<Section> sections) {
        int disorders = 0;
        for (int i = 1; i < sections.size(); i++) {
            if (sections.get(i).token() > 0 && sections.get(i).token() <= sections.get(i - 1).token()) {
                disorders++;
            }
        }
        return disorders;
    }

    private static int lostUpdates(List<HistoryEvent> events) {
        int lost = 0;
        long largest = 0;
        for (HistoryEvent event : events) {
            if (event.kind() == Kind.LEAVES) {
                if (event.value() <= largest) {
                    lost++;
                }
                largest = Math.max(largest, event.value());
            }
        }
        return lost;
    }

    private static OptionalLong takeover(List<HistoryEvent> events, List<Section> sections) {
        for (Section section : sections) {
            if (section.killed()) {
                return events.stream()
                        .filter(event -> event.kind() == Kind.ENTERS && event.atNanos() > section.untilNanos())
                        .mapToLong(event -> event.atNanos() - section.untilNanos())
                        .findFirst();
            }
        }
        return OptionalLong.empty();
    }

    /** Whether the lock did what it promises; a history without a section proves nothing. */
    boolean good() {
        return sections > 0 && overlaps.isEmpty() && tokenDisorders == 0 && lostUpdates == 0;
    }

    Map<String, @Nullable Object> json() {
        Map<String, @Nullable Object> json = new LinkedHashMap<>();
        json.put("command", "demo");
        json.put("good", good());
        json.put("sections", sections);
        json.put("workers", workers);
        json.put("killed", killed);
        json.put("overlaps", overlaps);
        json.put("tokenDisorders", tokenDisorders);
        json.put("lostUpdates", lostUpdates);
        json.put("takeoverMs", takeoverNanos.isPresent() ? takeoverNanos.getAsLong() / 1_000_000 : null);
        return json;
    }
}
