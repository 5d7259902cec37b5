package io.leasehold.redis.topology;

import io.leasehold.redis.wire.InfoText;
import io.leasehold.spi.Incarnation;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The facts of a server, from its {@code INFO}.
 *
 * @param incarnation its run id: drawn anew at every start of the process
 * @param version for example 7.0.9
 * @param mode standalone, cluster or sentinel
 * @param replica whether it follows another server and takes no writes
 * @param primary {@code host:port} of the server it follows, if it is a replica and says so
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
     * Reads the answer.
     *
     * @throws IllegalArgumentException if it has no run id
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
     * The kind of the server. By lines that only such a server has, since the field that names it in one word has other names elsewhere:
     * {@code redis_mode}, with Valkey 8.0 and newer {@code server_mode}.
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

    /** Whether it is 6.2 or newer; Valkey and others report the Redis version they are compatible with. */
    boolean isRecentEnough() {
        return isAtLeast(OLDEST_MAJOR, OLDEST_MINOR);
    }

    /** Whether it has what this version of Redis has. */
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
