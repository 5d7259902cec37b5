package io.leasehold.redis.node;

import io.leasehold.redis.wire.InfoText;
import java.util.Map;

/**
 * The origin of a server's current settings, as far as its own statistics prove it. Pure.
 *
 * <p>{@code CONFIG GET} returns the current settings, but a restart reads a file that no client can see. A client can
 * see whether {@code CONFIG SET} has changed anything since the start, and whether {@code CONFIG REWRITE} came after
 * the last such change.
 */
public enum SettingsOrigin {
    /** Nothing was changed since the start: a restart with the same file and command line gives the same settings. */
    START,
    /** All changes were written to the configuration file afterwards. */
    REWRITTEN,
    /** The server is not durable yet: it is writing its first append-only file. */
    BEING_WRITTEN,
    /** The settings were changed since the start, and nothing proves that they were written to the file. */
    CHANGED,
    /** The server does not report it: Redis 6.2, or a server that only imitates the protocol of Redis. */
    UNSEEN;

    private static final String COUNTS = "cmdstat_config|";

    /** Whether a restart keeps the settings, unless the file or the command line is changed by hand. */
    boolean surviveRestart() {
        return this == START || this == REWRITTEN;
    }

    /**
     * Reads statistics that were requested after the settings.
     *
     * @param commands the answer to {@code INFO commandstats}
     * @param persistence the answer to {@code INFO persistence}
     */
    static SettingsOrigin of(String commands, String persistence) {
        Map<String, String> counts = InfoText.fields(commands);
        if (!counts.containsKey(COUNTS + "get") && !counts.containsKey(COUNTS + "resetstat")) {
            // The client has just requested settings, and a server that counts commands has counted that request.
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

    /**
     * {@code CONFIG SET appendonly yes} starts a rewrite in the background; a crash before its end loses everything.
     */
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
