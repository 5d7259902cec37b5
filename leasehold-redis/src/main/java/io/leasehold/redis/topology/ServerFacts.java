package io.leasehold.redis.topology;

import io.leasehold.redis.wire.InfoText;
import io.leasehold.spi.Incarnation;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The facts of a server from its {@code INFO} answer.
 *
 * @param incarnation its run id, which is new at every start of the process
 * @param version for example 7.0.9
 * @param mode standalone, cluster or sentinel
 * @param replica whether it follows another server and accepts no writes
 * @param primary {@code host:port} of the server that a replica follows, if it reports that
 */
record ServerFacts(
        Incarnation incarnation,
        String version,
        String mode,
        boolean replica,
        @Nullable String primary) {

    private static final int OLDEST_MAJOR = 6;
    private static final int OLDEST_MINOR = 2;

    /**
     * Reads an {@code INFO} answer.
     *
     * @throws IllegalArgumentException if the answer has no run id
     */
    static ServerFacts parse(String info) {
        Map<String, String> fields = InfoText.fields(info);
        String runId = fields.get("run_id");
        if (runId == null || runId.isEmpty()) {
            throw new IllegalArgumentException("INFO has no run_id");
        }
        return new ServerFacts(
                new Incarnation(runId),
                fields.getOrDefault("redis_version", "0"),
                mode(fields),
                "slave".equals(fields.get("role")),
                fields.containsKey("master_host") ? fields.get("master_host") + ":" + fields.get("master_port") : null);
    }

    /**
     * Reads the mode of the server. It uses lines that only a server of that mode has, since the name of the mode field
     * differs: {@code redis_mode}, and {@code server_mode} in Valkey 8.0 and newer.
     */
    private static String mode(Map<String, String> fields) {
        if (fields.containsKey("sentinel_masters")) {
            return "sentinel";
        }
        if (fields.containsKey("cluster_enabled")) {
            return fields.get("cluster_enabled").equals("1") ? "cluster" : "standalone";
        }
        return fields.getOrDefault("redis_mode", fields.getOrDefault("server_mode", "standalone"));
    }

    /** Whether the version is 6.2 or newer; Valkey and others report the Redis version they are compatible with. */
    boolean isRecentEnough() {
        return isAtLeast(OLDEST_MAJOR, OLDEST_MINOR);
    }

    /** Whether the server is compatible with this version of Redis. */
    boolean isAtLeast(int wantedMajor, int wantedMinor) {
        String[] parts = version.split("\\.", -1);
        try {
            int major = Integer.parseInt(parts[0]);
            int minor = parts.length > 1 ? Integer.parseInt(parts[1]) : 0;
            return major > wantedMajor || (major == wantedMajor && minor >= wantedMinor);
        } catch (NumberFormatException e) {
            return false;
        }
    }
}
