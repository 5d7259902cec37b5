package io.leasehold.simulator.history;

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/** One event as one line: a verb, then {@code key=value} pairs with percent-escaped values. */
final class HistoryLine {

    private HistoryLine() {}

    static String write(HistoryEvent event) {
        StringBuilder line = new StringBuilder(96);
        if (event instanceof HistoryEvent.Acquired e) {
            held(line, "acquired", e, e.lock(), e.token()).append(" until=").append(e.untilAtNanos());
        } else if (event instanceof HistoryEvent.Extended e) {
            held(line, "extended", e, e.lock(), e.token()).append(" until=").append(e.untilAtNanos());
        } else if (event instanceof HistoryEvent.Ended e) {
            held(line, "ended", e, e.lock(), e.token()).append(" how=").append(text(e.how()));
        } else if (event instanceof HistoryEvent.Nested e) {
            held(line, "nested", e, e.lock(), e.token()).append(" depth=").append(e.depth());
        } else if (event instanceof HistoryEvent.Released e) {
            held(line, "gave-back", e, e.lock(), e.token()).append(" outcome=").append(text(e.outcome()));
        } else if (event instanceof HistoryEvent.Forced e) {
            begin(line, "forced", e).append(" lock=").append(text(e.lock()));
        } else if (event instanceof HistoryEvent.Accessed e) {
            begin(line, e.access() == HistoryEvent.Access.READ ? "read" : "write", e)
                    .append(" resource=")
                    .append(text(e.resource()))
                    .append(" token=")
                    .append(e.token())
                    .append(" value=")
                    .append(e.value())
                    .append(" accepted=")
                    .append(e.accepted());
        }
        return line.toString();
    }

    private static StringBuilder begin(StringBuilder line, String verb, HistoryEvent event) {
        return line.append(verb)
                .append(" at=")
                .append(event.atNanos())
                .append(" by=")
                .append(text(event.process()));
    }

    private static StringBuilder held(StringBuilder line, String verb, HistoryEvent event, String lock, long token) {
        return begin(line, verb, event)
                .append(" lock=")
                .append(text(lock))
                .append(" token=")
                .append(token);
    }

    private static String text(String value) {
        return URLEncoder.encode(value, StandardCharsets.UTF_8);
    }

    /**
     * Reads a line.
     *
     * @throws IllegalArgumentException if it is not an event
     */
    static HistoryEvent read(String line) {
        String[] words = line.split(" ", -1);
        Map<String, String> fields = new HashMap<>();
        for (int i = 1; i < words.length; i++) {
            int equals = words[i].indexOf('=');
            if (equals < 0) {
                throw new IllegalArgumentException("\"" + words[i] + "\" is not of the form key=value");
            }
            fields.put(
                    words[i].substring(0, equals),
                    URLDecoder.decode(words[i].substring(equals + 1), StandardCharsets.UTF_8));
        }
        Fields f = new Fields(fields);
        return switch (words[0]) {
            case "acquired" ->
                new HistoryEvent.Acquired(
                        f.number("at"), f.text("by"), f.text("lock"), f.number("token"), f.number("until"));
            case "extended" ->
                new HistoryEvent.Extended(
                        f.number("at"), f.text("by"), f.text("lock"), f.number("token"), f.number("until"));
            case "ended" ->
                new HistoryEvent.Ended(f.number("at"), f.text("by"), f.text("lock"), f.number("token"), f.text("how"));
            case "nested" ->
                new HistoryEvent.Nested(
                        f.number("at"), f.text("by"), f.text("lock"), f.number("token"), (int) f.number("depth"));
            case "gave-back" ->
                new HistoryEvent.Released(
                        f.number("at"), f.text("by"), f.text("lock"), f.number("token"), f.text("outcome"));
            case "forced" -> new HistoryEvent.Forced(f.number("at"), f.text("by"), f.text("lock"));
            case "read" -> accessed(f, HistoryEvent.Access.READ);
            case "write" -> accessed(f, HistoryEvent.Access.WRITE);
            default -> throw new IllegalArgumentException("\"" + words[0] + "\" is no kind of event");
        };
    }

    private static HistoryEvent.Accessed accessed(Fields f, HistoryEvent.Access access) {
        return new HistoryEvent.Accessed(
                f.number("at"),
                f.text("by"),
                f.text("resource"),
                access,
                f.number("token"),
                f.number("value"),
                Boolean.parseBoolean(f.text("accepted")));
    }

    private record Fields(Map<String, String> values) {
        String text(String key) {
            String value = values.get(key);
            if (value == null) {
                throw new IllegalArgumentException("\"" + key + "=\" is missing");
            }
            return value;
        }

        long number(String key) {
            String value = text(key);
            try {
                return Long.parseLong(value);
            } catch (NumberFormatException e) {
                throw new IllegalArgumentException(key + "=" + value + " is no number", e);
            }
        }
    }
}
