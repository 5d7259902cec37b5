package io.leasehold.cli.output;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Writes JSON on one line: maps in their order, lists, strings, numbers, booleans and null. The result is ASCII, so that no
 * terminal or locale can corrupt it.
 */
public final class Json {

    private Json() {}

    /**
     * A word of a closed list, or a number written as text: never hidden, since it cannot contain a secret.
     *
     * @param text the word
     */
    public record Word(String text) {}

    /** The value as JSON. */
    public static String of(@Nullable Object value) {
        return of(value, UnaryOperator.identity());
    }

    /** The same with every text, except keys and {@linkplain Word words}, changed by the function. */
    public static String of(@Nullable Object value, UnaryOperator<String> texts) {
        StringBuilder out = new StringBuilder();
        write(out, value, texts);
        return out.toString();
    }

    private static void write(StringBuilder out, @Nullable Object value, UnaryOperator<String> texts) {
        if (value == null || value instanceof Boolean || value instanceof Integer || value instanceof Long) {
            out.append(value);
        } else if (value instanceof Map<?, ?> map) {
            writeMap(out, map, texts);
        } else if (value instanceof List<?> list) {
            writeList(out, list, texts);
        } else if (value instanceof Word word) {
            writeString(out, word.text());
        } else if (value instanceof Enum<?>) {
            writeString(out, value.toString());
        } else if (value instanceof CharSequence) {
            writeString(out, texts.apply(value.toString()));
        } else {
            throw new IllegalArgumentException(
                    "no JSON for a " + value.getClass().getName());
        }
    }

    private static void writeMap(StringBuilder out, Map<?, ?> map, UnaryOperator<String> texts) {
        String separator = "{";
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            out.append(separator);
            writeString(out, String.valueOf(entry.getKey()));
            out.append(':');
            write(out, entry.getValue(), texts);
            separator = ",";
        }
        out.append(map.isEmpty() ? "{}" : "}");
    }

    private static void writeList(StringBuilder out, List<?> list, UnaryOperator<String> texts) {
        String separator = "[";
        for (Object element : list) {
            out.append(separator);
            write(out, element, texts);
            separator = ",";
        }
        out.append(list.isEmpty() ? "[]" : "]");
    }

    private static void writeString(StringBuilder out, String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '"' -> out.append("\\\"");
                case '\\' -> out.append("\\\\");
                case '\n' -> out.append("\\n");
                case '\r' -> out.append("\\r");
                case '\t' -> out.append("\\t");
                default -> {
                    if (c < ' ' || c > '~') {
                        out.append(String.format(Locale.ROOT, "\\u%04x", (int) c));
                    } else {
                        out.append(c);
                    }
                }
            }
        }
        out.append('"');
    }
}
