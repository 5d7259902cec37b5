package io.leasehold.demo;

/** The style of text in a terminal that supports it. */
enum Ink {
    PLAIN(""),
    DIM("2"),
    BOLD("1"),
    GREEN("32"),
    RED("1;31"),
    YELLOW("33");

    private final String code;

    Ink(String code) {
        this.code = code;
    }

    /** The text in this style, or unchanged without colours. */
    String paint(String text, boolean colourful) {
        return colourful && !code.isEmpty() ? "\u001b[" + code + "m" + text + "\u001b[0m" : text;
    }
}
