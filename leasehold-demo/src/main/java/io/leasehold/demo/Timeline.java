package io.leasehold.demo;

import io.leasehold.cli.output.Terminal;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The output: one line per event, with a column for each worker that shows whether it holds, waits or is dead. For one thread.
 */
final class Timeline {

    private static final int LANE = 5;
    private static final String WIPE = "\r\u001b[K";

    private enum State {
        AWAY(" ", Ink.PLAIN),
        WAITS("·", Ink.DIM),
        HOLDS("███", Ink.GREEN),
        STOPPED("z", Ink.RED),
        DEAD("✗", Ink.RED);

        private final String symbol;
        private final Ink ink;

        State(String symbol, Ink ink) {
            this.symbol = symbol;
            this.ink = ink;
        }
    }

    private final Terminal terminal;
    private final boolean colourful;
    private final Map<String, State> states = new LinkedHashMap<>();
    private long startNanos;
    private boolean passing;

    Timeline(Terminal terminal, boolean colourful, List<String> workers) {
        this.terminal = terminal;
        this.colourful = colourful;
        workers.forEach(worker -> states.put(worker, State.AWAY));
    }

    /** Sets the time zero, and prints the heading. */
    void begin(long atNanos) {
        startNanos = atNanos;
        StringBuilder heading = new StringBuilder("   time   ");
        states.keySet().forEach(worker -> heading.append(padded(worker, worker)));
        terminal.printText("\n" + Ink.BOLD.paint(heading.toString().stripTrailing(), colourful) + "\n");
    }

    void waits(String worker) {
        states.put(worker, State.WAITS);
    }

    void holds(String worker) {
        states.put(worker, State.HOLDS);
    }

    void leaves(String worker) {
        states.put(worker, State.AWAY);
    }

    void sleeps(String worker) {
        states.put(worker, State.STOPPED);
    }

    void dies(String worker) {
        states.put(worker, State.DEAD);
    }

    /** The workers that are waiting now. */
    List<String> waiting() {
        return states.entrySet().stream()
                .filter(entry -> entry.getValue() == State.WAITS)
                .map(Map.Entry::getKey)
                .toList();
    }

    /** The number of current holders. */
    long holders() {
        return states.values().stream().filter(state -> state == State.HOLDS).count();
    }

    /** Prints a line with the state of all workers. */
    void line(long atNanos, Ink ink, String text) {
        StringBuilder line = new StringBuilder();
        line.append(Ink.DIM.paint(String.format(Locale.ROOT, "%6.1f s  ", (atNanos - startNanos) / 1e9), colourful));
        states.values().forEach(state -> line.append(padded(state.symbol, state.ink.paint(state.symbol, colourful))));
        line.append("  ").append(ink.paint(text, colourful));
        print(line.toString());
    }

    /** Prints a text that the next one replaces; only on a terminal. */
    void passing(String text) {
        if (colourful) {
            terminal.printText(WIPE + Ink.YELLOW.paint(text, true));
            passing = true;
        }
    }

    private void print(String line) {
        terminal.printText((passing ? WIPE : "") + line + "\n");
        passing = false;
    }

    /** Prints a line with text only. */
    void text(Ink ink, String text) {
        print(text.isEmpty() ? "" : ink.paint(text, colourful));
    }

    private static String padded(String plain, String painted) {
        return painted + " ".repeat(LANE - plain.length());
    }
}
