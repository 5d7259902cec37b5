package io.leasehold.redis.node;

import io.leasehold.redis.wire.InfoText;
import java.util.Map;

/**
 * Where the settings of a server come from that hold now, as far as its own statistics prove it. Pure.
 *
 * <p>{@code CONFIG GET} tells what holds now. A restart reads a file that no client can see. What can be seen is whether
 * {@code CONFIG SET} has changed anything since the start, and whether {@code CONFIG REWRITE} came after the last such change.
 */
public enum SettingsOrigin {
    /** Nothing was changed since the start: a restart with the same file and command line gives the same. */
    START,
    /** All that was changed was written to the configuration file afterwards. */
    REWRITTEN,
    /** The server is only on the way: its first append-only file is not written yet. */
    BEING_WRITTEN,
    /** They were changed since the start; nothing proves that they were written to the file. */
    CHANGED,
    /** The server does not tell: Redis 6.2, or something that only speaks like Redis. */
    UNSEEN;

    private static final String COUNTS = "cmdstat_config|";

    /** Whether a restart keeps them, unless the file or the command line is changed by hand. */
    boolean surviveRestart() {
        return this == START || this == REWRITTEN;
    }

    /**
     * Reads statistics that were asked for after the settings.
     *
     * @param commands the answer to {@code INFO commandstats}
     * @param persistence the answer to {@code INFO persistence}
     */
    static SettingsOrigin of(String commands, String persistence) {
        Map<String, String> counts = InfoText.fields(commands);
        if (!counts.containsKey(COUNTS + "get") && !counts.containsKey(COUNTS + "resetstat")) {
            // We have just asked for settings: a server that counts commands has counted that.
            return UNSEEN;
        }
        if (succeeded(counts, "set") > 0) {
            return CHANGED;
        }
        if (succeeded(counts, "resetstat") == 0) {
            return START;
        }
        if (succeeded(counts, "rewrite") == 0) {
            return CHANGED;
        }
        return isFirstFileMissing(InfoText.fields(persistence)) ? BEING_WRITTEN : REWRITTEN;
    }

    /** {@code CONFIG SET appendonly yes} begins a rewrite in the background; before its end a crash forgets everything. */
    private static boolean isFirstFileMissing(Map<String, String> persistence) {
        boolean underWay = !persistence
                        .getOrDefault("aof_rewrite_in_progress", "0")
                        .equals("0")
                || !persistence.getOrDefault("aof_rewrite_scheduled", "0").equals("0");
        boolean failed =
                !persistence.getOrDefault("aof_last_bgrewrite_status", "ok").equals("ok");
        return failed
                || (underWay && persistence.getOrDefault("aof_rewrites", "0").equals("0"));
    }

    private static long succeeded(Map<String, String> counts, String command) {
        String line = counts.get(COUNTS + command);
        return line == null ? 0 : number(line, "calls=") - number(line, "failed_calls=");
    }

    private static long number(String line, String label) {
        for (String part : line.split(",", -1)) {
            if (part.startsWith(label)) {
                return Long.parseLong(part.substring(label.length()));
            }
        }
        return 0;
    }
}
