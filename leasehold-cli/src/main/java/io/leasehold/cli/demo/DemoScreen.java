package io.leasehold.cli.demo;

import io.leasehold.cli.demo.HistoryEvent.Kind;
import io.leasehold.cli.output.Json;
import io.leasehold.cli.output.Terminal;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** Shows a demonstration: coloured for a person at a terminal, plain where it is piped, JSON for scripts. */
public final class DemoScreen {

    /** The ways to show it. */
    public enum Style {
        /** With colours. */
        COLOURED,
        /** Without. */
        PLAIN,
        /** The verdict alone. */
        JSON
    }

    private static final String RESET = "\u001b[0m";
    private static final String BOLD = "\u001b[1m";
    private static final String RED = "\u001b[31m";
    private static final String GREEN = "\u001b[32m";
    private static final int[] WORKER_COLOURS = {36, 33, 35, 34};
    private static final int MOST_OVERLAPS = 5;

    private final Terminal terminal;
    private final Style style;

    /** Shows on this terminal. */
    public DemoScreen(Terminal terminal, Style style) {
        this.terminal = terminal;
        this.style = style;
    }

    void headline(String text) {
        if (style != Style.JSON) {
            write(coloured(BOLD, text));
            write("");
        }
    }

    /** Shows the events from this one on. */
    void show(List<HistoryEvent> events, int from) {
        if (style == Style.JSON) {
            return;
        }
        for (int i = from; i < events.size(); i++) {
            HistoryEvent event = events.get(i);
            if (event.kind() != Kind.WAITS) {
                write(String.format(
                        Locale.ROOT,
                        "%6.2fs  %s  %s",
                        (event.atNanos() - events.get(0).atNanos()) / 1e9,
                        worker(event.worker()),
                        sentence(event, events.subList(0, i + 1))));
            }
        }
    }

    private String sentence(HistoryEvent event, List<HistoryEvent> soFar) {
        return switch (event.kind()) {
            case WAITS -> "waits";
            case ENTERS -> {
                String token = event.token() == 0 ? "" : " with token " + event.token();
                String waiting = waiting(soFar);
                yield "enters" + token + ", reads " + event.value() + (waiting.isEmpty() ? "" : "; waiting: " + waiting);
            }
            case LEAVES -> "writes " + event.value() + " and leaves";
            case KILLED ->
                coloured(RED, "is killed with SIGKILL inside")
                        + (event.token() == 0 ? "" : "; its lease has to end by itself");
        };
    }

    private static String waiting(List<HistoryEvent> events) {
        TreeSet<Integer> waiting = new TreeSet<>();
        for (HistoryEvent event : events) {
            if (event.kind() == Kind.WAITS) {
                waiting.add(event.worker());
            } else {
                waiting.remove(event.worker());
            }
        }
        return waiting.stream().map(String::valueOf).collect(Collectors.joining(" "));
    }

    void show(HistoryVerdict verdict, Path history) {
        if (style == Style.JSON) {
            terminal.print(Json.of(verdict.json()));
            return;
        }
        write("");
        write("The history " + history + " says:");
        write("  sections       " + verdict.sections() + " by " + verdict.workers() + " processes, of which "
                + verdict.killed() + " killed inside");
        verdict.takeoverNanos()
                .ifPresent(nanos -> write(
                        String.format(Locale.ROOT, "  takeover       %.2f s after the kill", nanos / 1e9)));
        write("  overlaps       " + verdict.overlaps().size());
        verdict.overlaps().stream().limit(MOST_OVERLAPS).forEach(overlap -> write("                 " + overlap));
        write("  token order    " + (verdict.tokenDisorders() == 0 ? "kept" : verdict.tokenDisorders() + " times broken"));
        write("  lost updates   " + verdict.lostUpdates());
        write(
                verdict.good()
                        ? coloured(GREEN, "Good: never two at once, and no update was lost.")
                        : coloured(RED, "Violated: this is what a lock is for."));
    }

    private String worker(int number) {
        String name = "worker " + number;
        return style == Style.COLOURED
                ? "\u001b[" + WORKER_COLOURS[(number - 1) % WORKER_COLOURS.length] + "m" + name + RESET
                : name;
    }

    private String coloured(String colour, String text) {
        return style == Style.COLOURED ? colour + text + RESET : text;
    }

    /** All of it is our own text, numbers and a path of ours, so colours may pass. */
    private void write(String line) {
        terminal.printText(line + "\n");
    }
}
