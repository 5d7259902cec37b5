package io.leasehold.redis.node;

import io.leasehold.admin.Finding;
import io.leasehold.redis.wire.LifeCheck;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Grades the facts that a server reports. Pure.
 *
 * @param node the name of the server, for messages
 * @param config the answer to {@code CONFIG GET}; empty if the server does not permit it
 * @param origin whether a restart keeps these settings
 * @param info the answer to {@code INFO}
 * @param skewMillis the server's clock minus the client's; Leasehold does not use the client's clock, but operators
 *     read both
 * @param subscribed whether a subscription succeeded
 * @param member whether the server is a member of a Redlock set, which applies a quarantine after restarts
 * @param life how a member's birth marker is compared with its present life
 * @param direct whether it is proved that the connection leads to the server itself
 */
record ServerChecks(
        String node,
        Map<String, String> config,
        SettingsOrigin origin,
        Map<String, String> info,
        long skewMillis,
        boolean subscribed,
        boolean member,
        LifeCheck life,
        boolean direct) {

    private static final long RECENT_SECONDS = 120;
    private static final long MAX_SKEW_MILLIS = 2_000;
    private static final long MIN_PUBSUB_BYTES = 1 << 20;
    private static final long MIN_IDLE_SECONDS = 15;
    private static final String READ_CONFIG = "ACL SETUSER <user> +config|get";

    List<Finding> findings() {
        List<Finding> findings = new ArrayList<>();
        findings.add(version());
        if (config.isEmpty()) {
            findings.add(Finding.unknown(
                    "config",
                    node + " does not let its configuration be read: eviction, persistence and limits are not known",
                    READ_CONFIG));
        } else {
            findings.add(eviction());
            findings.add(persistence());
            findings.add(replicas());
            findings.add(buffers());
            findings.add(idleTimeout());
        }
        findings.add(connections());
        findings.add(restart());
        if (member) {
            findings.add(lifeCheck());
        }
        findings.add(clock());
        findings.add(wakeUps());
        return findings;
    }

    private String configured(String key, String otherwise) {
        return config.getOrDefault(key, otherwise);
    }

    private long number(String key) {
        return parsed(info.getOrDefault(key, "0"));
    }

    /** Reads a number; any other text counts as zero. */
    private static long parsed(String number) {
        try {
            return Long.parseLong(number);
        } catch (NumberFormatException e) {
            return 0;
        }
    }

    private Finding version() {
        String version = info.getOrDefault("redis_version", "unknown");
        String what = node + " is " + info.getOrDefault("server_name", "redis") + " " + version;
        if (version.startsWith("6.")) {
            return Finding.warning(
                    "version",
                    what + ": it works, and gets no more corrections",
                    "upgrade to 7.2 or newer, node by node");
        }
        return Finding.good("version", what);
    }

    private Finding eviction() {
        String policy = configured("maxmemory-policy", "noeviction");
        boolean limited = !configured("maxmemory", "0").equals("0");
        if (policy.equals("noeviction")) {
            return Finding.good("eviction", node + " evicts nothing");
        }
        String remedy = setting("maxmemory-policy noeviction");
        return limited
                ? Finding.unsafe(
                        "eviction", node + " drops held locks when its memory is full (" + policy + ")", remedy)
                : Finding.warning(
                        "eviction",
                        node + " would drop held locks (" + policy + ") as soon as maxmemory is set",
                        remedy);
    }

    private Finding persistence() {
        boolean appends = configured("appendonly", "no").equals("yes");
        String fsync = configured("appendfsync", "everysec");
        boolean always = appends && fsync.equals("always");
        if (always && configured("no-appendfsync-on-rewrite", "no").equals("no")) {
            return durableNow();
        }
        if (always) {
            return Finding.warning(
                    "persistence",
                    node + " forgets locks in a crash during a rewrite of its append-only file",
                    setting("no-appendfsync-on-rewrite no"));
        }
        if (member) {
            return Finding.good(
                    "persistence",
                    node + " may forget locks in a crash, and grants nothing for one quarantine after it");
        }
        return appends
                ? Finding.warning(
                        "persistence",
                        node + " forgets the locks of the last second if its machine crashes (appendfsync " + fsync
                                + ")",
                        setting("appendfsync always"))
                : Finding.unsafe(
                        "persistence",
                        node + " forgets every lock when it restarts (appendonly no): two can then hold one",
                        setting("appendonly yes", "appendfsync always"));
    }

    /**
     * The finding for current settings with which every acknowledged write survives a crash; a restart may read other
     * settings.
     */
    private Finding durableNow() {
        return switch (origin) {
            case START, REWRITTEN ->
                Finding.good("persistence", node + " keeps every acknowledged lock over a crash and a restart");
            case BEING_WRITTEN ->
                Finding.warning(
                        "persistence",
                        node
                                + " is writing its first append-only file, and forgets every lock if it crashes before"
                                + " the end",
                        "wait, and ask again; if it stays so, look at its log and disk");
            case CHANGED ->
                Finding.unsafe(
                        "persistence",
                        node
                                + " keeps every acknowledged lock over a crash now, but its settings were changed"
                                + " since its start and nothing proves that they stand in its configuration file:"
                                + " after a restart without them it has forgotten every lock, and two can hold one",
                        rewritten());
            case UNSEEN ->
                Finding.unknown(
                        "persistence",
                        node
                                + " keeps every acknowledged lock over a crash now, and does not tell whether its"
                                + " settings were changed since its start: look whether they stand in its"
                                + " configuration file",
                        "appendonly yes, appendfsync always and no-appendfsync-on-rewrite no belong into the file;"
                                + " Redis 7.0 and newer tell");
        };
    }

    /**
     * The commands that set and keep settings, in an order after which the server's own statistics prove that the file
     * contains all of them.
     */
    private String setting(String... settings) {
        if (!hasFile()) {
            return "it was started without a configuration file: start it with --" + String.join(" --", settings)
                    + " when no lock is held; what CONFIG SET changes would not survive a restart";
        }
        return Stream.of(settings).map(one -> "CONFIG SET " + one + "; ").collect(Collectors.joining()) + rewritten();
    }

    private String rewritten() {
        return hasFile()
                ? "CONFIG RESETSTAT; CONFIG REWRITE"
                : "it was started without a configuration file: start it with one, or with these settings on its"
                        + " command line, when no lock is held";
    }

    /** Whether the server has a configuration file. Servers that do not report one usually have one. */
    private boolean hasFile() {
        return !info.getOrDefault("config_file", "?").isEmpty();
    }

    private Finding replicas() {
        long replicas = number("connected_slaves");
        String least = configured("min-replicas-to-write", "0");
        if (replicas == 0 && least.equals("0")) {
            return Finding.good("replicas", node + " has no replicas");
        }
        if (least.equals("0")) {
            return Finding.warning(
                    "replicas",
                    node + " has " + replicas + " replicas and grants locks even if no replica receives them: after a"
                            + " split two can hold one. Refusing writes without a replica narrows"
                            + " that, and fencing tokens close the rest",
                    setting("min-replicas-to-write 1", "min-replicas-max-lag 1"));
        }
        return Finding.good(
                "replicas", node + " has " + replicas + " replicas and refuses writes with fewer than " + least);
    }

    /** Checks a value like {@code normal 0 0 0 slave … pubsub 33554432 8388608 60}: hard limit, soft limit, seconds. */
    private Finding buffers() {
        String[] words = configured("client-output-buffer-limit", "").split(" ", -1);
        for (int i = 0; i + 1 < words.length; i++) {
            if (words[i].equals("pubsub")) {
                long hard = parsed(words[i + 1]);
                if (hard > 0 && hard < MIN_PUBSUB_BYTES) {
                    return Finding.warning(
                            "buffers",
                            node + " cuts a subscription that is " + hard + " bytes behind: waiters then ask from time"
                                    + " to time instead of being woken",
                            setting("client-output-buffer-limit \"pubsub 33554432 8388608 60\""));
                }
            }
        }
        return Finding.good("buffers", node + " has room for wake-ups");
    }

    private Finding idleTimeout() {
        long seconds = parsed(configured("timeout", "0"));
        if (seconds > 0 && seconds < MIN_IDLE_SECONDS) {
            return Finding.warning(
                    "idle", node + " ends connections that are silent for " + seconds + " s", setting("timeout 0"));
        }
        return Finding.good("idle", node + " keeps silent connections");
    }

    private Finding connections() {
        long most = number("maxclients");
        long now = number("connected_clients");
        String what = node + " has " + now + " of at most " + most + " connections";
        return most > 0 && now > most * 8 / 10
                ? Finding.warning("connections", what, setting("maxclients " + 2 * most))
                : Finding.good("connections", what);
    }

    private Finding restart() {
        long seconds = number("uptime_in_seconds");
        if (seconds < RECENT_SECONDS && !wasDurableAtItsStart()) {
            return Finding.warning(
                    "restart",
                    node + " was started " + seconds + " s ago: "
                            + (member
                                    ? "unless it is durable it grants nothing until its quarantine is over"
                                    : "unless it is durable it may have forgotten locks of before"),
                    null);
        }
        return Finding.good("restart", node + " has been up for " + seconds + " s");
    }

    /** Reports how the run id is compared, since only the operator knows all proxies. */
    private Finding lifeCheck() {
        String way = switch (life) {
            case INFO -> "its scripts read the run id of the server (proxy=true)";
            case CONNECTION -> "its scripts get the run id that it reported on each connection (proxy=false)";
            case DURABLE ->
                "it is declared durable (durable=true), so no run id is compared: it has forgotten only if its marker"
                        + " is absent";
            case CONNECTION_IF_DIRECT ->
                direct
                        ? "its scripts get the run id that it reported on each connection, since it sees the same two"
                                + " ends of the connection as this client"
                        : "it does not see the two ends of the connection that this client sees, so its scripts read"
                                + " the run id of the server; if no proxy changes servers under an open connection,"
                                + " proxy=false saves it that command";
        };
        return Finding.good("life", node + " is compared with its marker after a restart: " + way);
    }

    /**
     * Whether the server was durable at its start. Settings that were changed since the start do not prove what it kept
     * before.
     */
    private boolean wasDurableAtItsStart() {
        return origin == SettingsOrigin.START
                && configured("appendonly", "no").equals("yes")
                && configured("appendfsync", "everysec").equals("always")
                && configured("no-appendfsync-on-rewrite", "no").equals("no");
    }

    private Finding clock() {
        if (Math.abs(skewMillis) > MAX_SKEW_MILLIS) {
            return Finding.warning(
                    "clock",
                    "the clock of " + node + " is " + Math.abs(skewMillis) + " ms "
                            + (skewMillis > 0 ? "ahead of" : "behind") + " ours; ttls end by its clock",
                    "run chrony or ntpd on both; slew clocks, never step them");
        }
        return Finding.good("clock", "the clock of " + node + " agrees with ours");
    }

    private Finding wakeUps() {
        return subscribed
                ? Finding.good("wake-ups", node + " lets us subscribe")
                : Finding.warning(
                        "wake-ups",
                        node + " does not let us subscribe: waiters ask from time to time instead of being woken",
                        "ACL SETUSER <user> &lock:wake:* +subscribe +ping" + rightsOfShards());
    }

    /** The rights to the sharded channels of a Cluster, which Redis 6.2 does not know. */
    private String rightsOfShards() {
        boolean isSharded = info.getOrDefault("cluster_enabled", "0").equals("1")
                && !info.getOrDefault("redis_version", "").startsWith("6.");
        return isSharded ? " +ssubscribe +sunsubscribe +spublish" : "";
    }
}
