package io.leasehold.redis.wire;

import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The right that a server reports as missing, and the ACL rule that grants it.
 *
 * <p>Servers name the refused command. If a script runs the command, some versions name only the script and the line.
 *
 * @param what the refused action, for a message
 * @param rule the rule for {@code ACL SETUSER}
 */
record MissingRight(String what, String rule) {

    private static final Pattern COMMAND = Pattern.compile("'([A-Za-z|_-]+)' command");
    private static final Pattern CHANNEL = Pattern.compile("(access|publish to) (the|a|one of the) channels?\\b");
    private static final Pattern KEY = Pattern.compile("access (a|one of the|at least one of the) keys?\\b");
    private static final Pattern LINE = Pattern.compile("@user_script: ?(\\d+)[:.]");
    private static final Pattern DIGEST = Pattern.compile("\\b(?:f_)?([0-9a-f]{40})\\b");
    private static final Pattern CALL = Pattern.compile("\\bp?call\\('([A-Z]+)'");

    /** Reads a refusal; null if it does not name the missing right. */
    static @Nullable MissingRight in(String refusal, String keyRights, String channelRights) {
        // Check this before the command: a script names the command even if the refusal concerns a key.
        if (CHANNEL.matcher(refusal).find()) {
            return new MissingRight("use the channels of " + channelRights.replace("&", ""), channelRights);
        }
        if (KEY.matcher(refusal).find()) {
            return new MissingRight("use the keys of locks", keyRights);
        }
        Matcher command = COMMAND.matcher(refusal);
        if (command.find()) {
            return ofCommand(command.group(1));
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
