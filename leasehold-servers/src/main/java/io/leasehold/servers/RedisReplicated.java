package io.leasehold.servers;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * One Redis primary and its replicas, without automatic fail-over.
 *
 * <p>When {@link #start} returns every replica has its link to the primary. Each member is a {@link RedisServer} that can be
 * killed, frozen and restarted by itself. Safe for use by any thread.
 */
public final class RedisReplicated implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final List<RedisServer> members;

    private RedisReplicated(List<RedisServer> members) {
        this.members = List.copyOf(members);
    }

    /** Starts a primary and this number of replicas with default settings. */
    public static RedisReplicated start(int replicas) {
        return start(replicas, member -> member);
    }

    /**
     * Starts a primary and this number of replicas. *
     * @param settings applied to every member's builder; ports are chosen freely
     */
    public static RedisReplicated start(int replicas, UnaryOperator<RedisServer.Builder> settings) {
        if (replicas < 1) {
            throw new IllegalArgumentException("a replicated group needs at least 1 replica, not " + replicas);
        }
        RedisProcess.Credentials launcher = RedisProcess.Credentials.random();
        List<RedisServer> members = new ArrayList<>();
        try {
            RedisServer primary = member(launcher, settings).start();
            members.add(primary);
            for (int i = 0; i < replicas; i++) {
                members.add(member(launcher, settings)
                        .config("replicaof 127.0.0.1 " + primary.port())
                        .start());
            }
            for (RedisServer replica : members.subList(1, members.size())) {
                replica.await("the link to the primary", PATIENCE, RedisReplicated::isLinked);
            }
            return new RedisReplicated(members);
        } catch (RuntimeException e) {
            members.forEach(RedisServer::close);
            throw e;
        }
    }

    /** The server that was the primary at the start. */
    public RedisServer primary() {
        return members.get(0);
    }

    /** The servers that were replicas at the start. */
    public List<RedisServer> replicas() {
        return members.subList(1, members.size());
    }

    /** {@code redis-replicated://primary,replica,…}; without passwords. */
    public String uri() {
        return "redis-replicated://" + addresses(members);
    }

    @Override
    public void close() {
        members.forEach(RedisServer::close);
    }

    static boolean isLinked(RedisServer replica) {
        return replica.call("INFO", "replication").contains("master_link_status:up");
    }

    static String addresses(List<RedisServer> servers) {
        return String.join(
                ",",
                servers.stream().map(server -> "127.0.0.1:" + server.port()).toList());
    }

    private static RedisServer.Builder member(
            RedisProcess.Credentials launcher, UnaryOperator<RedisServer.Builder> settings) {
        return settings.apply(RedisServer.builder()).port(0).launcher(launcher);
    }
}
