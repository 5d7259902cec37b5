package io.leasehold.redis.wire;

import java.util.Map;

/** The way in which a server deletes a key that has a certain value: its own command, or a script. */
public enum CompareAndDelete {
    /** {@code DELEX key IFEQ value}, Redis 8.4 and newer. */
    DELEX,
    /** {@code DELIFEQ key value}, Valkey 9.0 and newer. */
    DELIFEQ,
    /** {@code plain_release.lua}, on every server. */
    SCRIPT;

    /**
     * The command.
     *
     * @throws IllegalStateException if the server has no such command and needs the script
     */
    public PlainCommand<Long> command(String key, String value) {
        return switch (this) {
            case DELEX -> PlainCommand.deleteIfEqual(name(), key, "IFEQ", value);
            case DELIFEQ -> PlainCommand.deleteIfEqual(name(), key, value);
            case SCRIPT -> throw new IllegalStateException("by script");
        };
    }

    /** Chooses the way for a server with this {@code INFO server} answer; in doubt the script. */
    public static CompareAndDelete of(String info) {
        Map<String, String> fields = InfoText.fields(info);
        // Valkey also reports the version of Redis that it is compatible with.
        String valkey = fields.get("valkey_version");
        if (valkey != null) {
            return isAtLeast(valkey, 9, 0) ? DELIFEQ : SCRIPT;
        }
        String server = fields.getOrDefault("server_name", "redis");
        return server.equals("redis") && isAtLeast(fields.getOrDefault("redis_version", ""), 8, 4) ? DELEX : SCRIPT;
    }

    private static boolean isAtLeast(String version, int major, int minor) {
        String[] parts = version.split("\\.", -1);
        try {
            int first = Integer.parseInt(parts[0]);
            int second = parts.length > 1 ? Integer.parseInt(parts[1]) : 0;
            return first > major || (first == major && second >= minor);
        } catch (NumberFormatException e) {
            return false;
        }
    }
}
