package io.leasehold.cli.output;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Writes JSON on one line: maps in their order, lists, strings, numbers, booleans and null. The result is ASCII, so that
 * no terminal and no locale can spoil it.
 */
public final class Json {

    private Json() {}

    /** The value as JSON. */
    public static String of(@Nullable Object value) {
        StringBuilder out = new StringBuilder();
        write(out, value);
        return out.toString();
    }

    private static void write(StringBuilder out, @Nullable Object value) {
        if (value == null || value instanceof Boolean || value instanceof Integer || value instanceof Long) {
            out.append(value);
        } else if (value instanceof Map<?, ?> map) {
            writeMap(out, map);
        } else if (value instanceof List<?> list) {
            writeList(out, list);
        } else if (value instanceof CharSequence || value instanceof Enum<?>) {
            writeString(out, value.toString());
        } else {
            throw new IllegalArgumentException(
                    "no JSON for a " + value.getClass().getName());
        }
    }

    private static void writeMap(StringBuilder out, Map<?, ?> map) {
        String separator = "{";
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            out.append(separator);
            writeString(out, String.valueOf(entry.getKey()));
            out.append(':');
            write(out, entry.getValue());
            separator = ",";
        }
        out.append(map.isEmpty() ? "{}" : "}");
    }

    private static void writeList(StringBuilder out, List<?> list) {
        String separator = "[";
        for (Object element : list) {
            out.append(separator);
            write(out, element);
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
