package io.leasehold.demo;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.demo.actor.Scheme;
import io.leasehold.demo.actor.ScriptFile;
import io.leasehold.servers.RedisServer;
import io.leasehold.servers.ServerUnavailableException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;

/** Independent Redis servers without persistence, of which a quorum makes one lock. Counted from 1. For one thread. */
final class Nodes {

    /** The longest wait, for a busy machine; a missing answer then counts as none. */
    private static final Duration MAX_NODE_TIMEOUT = Duration.ofMillis(500);

    private static final int NODE_TIMEOUTS_PER_TTL = 6;

    private final List<RedisServer> servers;
    private final boolean clocks;

    private Nodes(List<RedisServer> servers, boolean clocks) {
        this.servers = servers;
        this.clocks = clocks;
    }

    /** Starts this number of servers. */
    static Nodes start(Play play, int count) {
        return said(play, new Nodes(play.stage().startRedises(count), false));
    }

    /** Starts this number of servers, with their own clocks if this machine supports that. */
    static Nodes startWithClocks(Play play, int count) {
        try {
            return said(play, new Nodes(play.stage().startRedisesWithClocks(count), true));
        } catch (ServerUnavailableException e) {
            Nodes nodes = start(play, count);
            String reason = String.valueOf(e.getMessage()).lines().findFirst().orElse("");
            play.say(Ink.DIM, "No clock can be moved here (" + reason + ").");
            play.say(
                    Ink.DIM,
                    "Redis keeps the ends of its keys in wall-clock time: instead of the clock, they are moved by the jump.");
            return nodes;
        }
    }

    private static Nodes said(Play play, Nodes nodes) {
        int count = nodes.servers.size();
        String ports = nodes.servers.stream()
                .map(server -> Integer.toString(server.port()))
                .collect(Collectors.joining(", "));
        play.say(
                Ink.DIM,
                "Started: " + count + " independent Redis " + nodes.node(1).version() + " on 127.0.0.1, ports "
                        + ports);
        return nodes;
    }

    RedisServer node(int number) {
        return servers.get(number - 1);
    }

    /** The URIs for an actor. */
    List<String> uris(Scheme scheme, Duration maxTtl) {
        List<String> each = servers.stream().map(RedisServer::uri).toList();
        return scheme == Scheme.LEASEHOLD ? List.of(redlock(each, maxTtl)) : each;
    }

    private static String redlock(List<String> each, Duration maxTtl) {
        return each.stream()
                        .map(uri -> "node=" + URLEncoder.encode(uri, StandardCharsets.UTF_8))
                        .collect(Collectors.joining("&", "redlock:?", ""))
                + "&maxTtl=" + maxTtl.toMillis() + "ms&nodeTimeout="
                + nodeTimeout(maxTtl).toMillis() + "ms";
    }

    private static Duration nodeTimeout(Duration maxTtl) {
        Duration part = maxTtl.dividedBy(NODE_TIMEOUTS_PER_TTL);
        return part.compareTo(MAX_NODE_TIMEOUT) < 0 ? part : MAX_NODE_TIMEOUT;
    }

    /** As {@code leasehold redlock init}: declares them new, so that no quarantine is needed. */
    void declareNew(Duration maxTtl) {
        try (LockClient locks = Leasehold.builder()
                .store(uris(Scheme.LEASEHOLD, maxTtl).get(0))
                .defaults(LockOptions.defaults().ttl(maxTtl))
                .connect()) {
            locks.admin().declareNewNodes();
        }
    }

    /** Makes this node refuse every command that needs memory: it can grant nothing. */
    void fill(int number) {
        node(number).call("CONFIG", "SET", "maxmemory", "1");
    }

    /** Gives it memory again. */
    void free(int number) {
        node(number).call("CONFIG", "SET", "maxmemory", "0");
    }

    /**
     * Makes the clock of this node jump forwards or, if it has no clock of its own, makes all its keys end that much
     * earlier.
     */
    void jump(int number, Duration jump) {
        if (clocks) {
            node(number).clock().step(jump);
        } else {
            String moveEnds = ScriptFile.read(Nodes.class, "move-ends.lua");
            node(number).call("EVAL", moveEnds, "0", Long.toString(jump.toMillis()));
        }
    }

    /** Whether this node has the lock. */
    boolean hasLock(int number) {
        return node(number).call("EXISTS", Play.KEY).strip().equals("1");
    }
}
