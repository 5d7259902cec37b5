package io.leasehold.redis.wire;

import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Which right a server says is missing, and the ACL rule that grants it.
 *
 * <p>Servers name the command; when a script runs it, some versions name only the script and its line.
 *
 * @param what what may not be done, for people
 * @param rule what {@code ACL SETUSER} takes
 */
record MissingRight(String what, String rule) {

    private static final Pattern COMMAND = Pattern.compile("'([A-Za-z|_-]+)' command");
    private static final Pattern LINE = Pattern.compile("@user_script: ?(\\d+)[:.]");
    private static final Pattern DIGEST = Pattern.compile("\\b(?:f_)?([0-9a-f]{40})\\b");
    private static final Pattern CALL = Pattern.compile("redis\\.p?call\\('([A-Z]+)'");

    /** Reads a refusal; null if it does not say what is missing. */
    static @Nullable MissingRight in(String refusal, String keyRights) {
        String text = refusal.toLowerCase(Locale.ROOT);
        if (text.contains("channel")) {
            return new MissingRight("use the channels of wake-ups", "&lock:wake:*");
        }
        Matcher command = COMMAND.matcher(refusal);
        if (command.find()) {
            return ofCommand(command.group(1));
        }
        if (text.contains(" key")) {
            return new MissingRight("use the keys of locks", keyRights);
        }
        String called = calledAt(refusal);
        return called == null ? null : ofCommand(called);
    }

    private static MissingRight ofCommand(String command) {
        return new MissingRight("run " + command.toUpperCase(Locale.ROOT), "+" + command.toLowerCase(Locale.ROOT));
    }

    private static @Nullable String calledAt(String refusal) {
        Matcher digest = DIGEST.matcher(refusal);
        Matcher line = LINE.matcher(refusal);
        if (!digest.find() || !line.find()) {
            return null;
        }
        LuaScript script = LuaScript.withDigest(digest.group(1));
        List<String> lines = script == null ? List.of() : script.text().lines().toList();
        int number = Integer.parseInt(line.group(1));
        if (number < 1 || number > lines.size()) {
            return null;
        }
        Matcher call = CALL.matcher(lines.get(number - 1));
        return call.find() ? call.group(1) : null;
    }
}
