package io.leasehold.servers;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * A replicated group watched by three Sentinels, two of which have to agree on a fail-over.
 *
 * <p>When {@link #start} returns every Sentinel knows all replicas and both other Sentinels. A primary that does not answer
 * for {@link #DOWN_AFTER} counts as dead. Safe for use by any thread.
 */
public final class RedisSentinelGroup implements AutoCloseable {
    /** The name under which the Sentinels know the group. */
    public static final String MASTER_NAME = "mymaster";
    /** How long a primary may be silent before a Sentinel counts it as dead. */
    public static final Duration DOWN_AFTER = Duration.ofSeconds(1);

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int SENTINELS = 3;
    private static final int QUORUM = 2;

    private final RedisReplicated data;
    private final List<RedisSentinel> sentinels;

    private RedisSentinelGroup(RedisReplicated data, List<RedisSentinel> sentinels) {
        this.data = data;
        this.sentinels = List.copyOf(sentinels);
    }

    /** A primary, so many replicas, and three Sentinels. */
    public static RedisSentinelGroup start(int replicas) {
        return start(replicas, member -> member);
    }

    /**
     * A primary, so many replicas, and three Sentinels.
     *
     * @param settings applied to the builder of every data server
     */
    public static RedisSentinelGroup start(int replicas, UnaryOperator<RedisServer.Builder> settings) {
        RedisBinary binary = RedisBinary.find();
        RedisReplicated data = RedisReplicated.start(replicas, settings);
        List<RedisSentinel> sentinels = new ArrayList<>();
        try {
            for (int i = 0; i < SENTINELS; i++) {
                RedisSentinel sentinel = RedisSentinel.start(binary, lines(data.primary()));
                sentinels.add(sentinel);
                if (binary.version().isAtLeast(7, 0)) {
                    quicken(sentinel);
                }
            }
            for (RedisSentinel sentinel : sentinels) {
                sentinel.await("knowledge of the whole group", PATIENCE, s -> knowsAll(s, replicas));
            }
            return new RedisSentinelGroup(data, sentinels);
        } catch (RuntimeException e) {
            sentinels.forEach(RedisSentinel::close);
            data.close();
            throw e;
        }
    }

    /**
     * The server that the Sentinels call the primary now.
     *
     * @throws ServerException if no Sentinel that lives names one of this group's servers
     */
    public RedisServer primary() {
        for (RedisSentinel sentinel : sentinels) {
            if (sentinel.isRunning()) {
                Optional<RedisServer> named = primaryAt(sentinel);
                if (named.isPresent()) {
                    return named.get();
                }
            }
        }
        throw new ServerException("no running Sentinel names a primary of this group");
    }

    /** Waits until every Sentinel that lives names another primary than this one, and that one accepts writes. */
    public RedisServer awaitPrimaryOtherThan(RedisServer former) {
        for (RedisSentinel sentinel : sentinels) {
            if (sentinel.isRunning()) {
                sentinel.await(
                        "a fail-over",
                        PATIENCE,
                        s -> primaryAt(s).filter(server -> server != former).isPresent());
            }
        }
        RedisServer present = primary();
        present.await(
                "the role of the primary",
                PATIENCE,
                server -> server.call("ROLE").startsWith("master"));
        return present;
    }

    /** All data servers, in the order in which they were started. */
    public List<RedisServer> servers() {
        return Stream.concat(Stream.of(data.primary()), data.replicas().stream())
                .toList();
    }

    /** The Sentinels, in the order in which they were started. */
    public List<RedisSentinel> sentinels() {
        return sentinels;
    }

    /** {@code redis-sentinel://s1,s2,s3/mymaster}; without passwords. */
    public String uri() {
        return "redis-sentinel://"
                + String.join(
                        ",",
                        sentinels.stream()
                                .map(sentinel -> "127.0.0.1:" + sentinel.port())
                                .toList())
                + "/" + MASTER_NAME;
    }

    @Override
    public void close() {
        sentinels.forEach(RedisSentinel::close);
        data.close();
    }

    // How often Sentinels tell each other of themselves (else 2 s) and look at the servers (else 10 s), and how long
    // one that
    // was not scheduled for 2 s refuses to act (else 30 s), which is common where many tests share a few cores.
    private static void quicken(RedisSentinel sentinel) {
        sentinel.call("SENTINEL", "DEBUG", "publish-period", "200", "info-period", "500", "tilt-period", "1000");
    }

    private static List<String> lines(RedisServer primary) {
        List<String> lines = new ArrayList<>(List.of(
                "sentinel monitor " + MASTER_NAME + " 127.0.0.1 " + primary.port() + " " + QUORUM,
                "sentinel down-after-milliseconds " + MASTER_NAME + " " + DOWN_AFTER.toMillis(),
                "sentinel failover-timeout " + MASTER_NAME + " 5000"));
        RedisProcess.Credentials launcher = primary.launcher();
        if (launcher != null) {
            lines.add("sentinel auth-user " + MASTER_NAME + " " + launcher.user());
            lines.add("sentinel auth-pass " + MASTER_NAME + " " + launcher.password());
        }
        return lines;
    }

    private static boolean knowsAll(RedisSentinel sentinel, int replicas) {
        List<String> fields =
                sentinel.call("SENTINEL", "MASTER", MASTER_NAME).lines().toList();
        return valueOf(fields, "num-slaves").equals(Integer.toString(replicas))
                && valueOf(fields, "num-other-sentinels").equals(Integer.toString(SENTINELS - 1))
                && valueOf(fields, "flags").equals("master");
    }

    private static String valueOf(List<String> fields, String name) {
        int at = fields.indexOf(name);
        return at < 0 || at + 1 == fields.size() ? "" : fields.get(at + 1);
    }

    private Optional<RedisServer> primaryAt(RedisSentinel sentinel) {
        List<String> address = sentinel.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER_NAME)
                .lines()
                .toList();
        return servers().stream()
                .filter(server -> address.size() == 2 && address.get(1).equals(Integer.toString(server.port())))
                .findFirst();
    }
}
