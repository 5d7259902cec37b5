package io.leasehold.cli.output;

/** The meaning of a line, which a terminal with colours shows by one. */
public enum Style {
    /** Nothing. */
    PLAIN(""),
    /** The heading of a table. */
    HEADING("\033[1m"),
    /** Good, or new. */
    GOOD("\033[32m"),
    /** Needs attention. */
    WARNING("\033[33m"),
    /** Bad. */
    BAD("\033[31m");

    private static final String PLAIN_AGAIN = "\033[0m";

    private final String begin;

    Style(String begin) {
        this.begin = begin;
    }

    /** The text in this style; it must hold no control characters. */
    String on(String text) {
        return begin.isEmpty() ? text : begin + text + PLAIN_AGAIN;
    }
}
