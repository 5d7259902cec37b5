package io.leasehold.cli.output;

import java.util.Locale;

/**
 * Turns any text into one line that is harmless to a terminal: control characters, line breaks and the Unicode characters that
 * reorder or hide text are written as escapes.
 */
public final class SafeText {

    private SafeText() {}

    /** The text on one line. */
    public static String line(String text) {
        StringBuilder out = new StringBuilder(text.length() + 16);
        text.codePoints().forEach(c -> append(out, c));
        return out.toString();
    }

    private static void append(StringBuilder out, int c) {
        switch (c) {
            case '\n' -> out.append("\\n");
            case '\r' -> out.append("\\r");
            case '\t' -> out.append("\\t");
            default -> {
                if (Character.isISOControl(c)) {
                    out.append(String.format(Locale.ROOT, "\\x%02x", c));
                } else if (isInvisible(c)) {
                    out.append(String.format(Locale.ROOT, "\\u%04x", c));
                } else {
                    out.appendCodePoint(c);
                }
            }
        }
    }

    private static boolean isInvisible(int c) {
        return switch (Character.getType(c)) {
            case Character.FORMAT, Character.SURROGATE, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR -> true;
            default -> false;
        };
    }
}
