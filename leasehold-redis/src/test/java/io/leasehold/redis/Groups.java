package io.leasehold.redis;

import static org.junit.jupiter.api.Assumptions.abort;

import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisReplicated;
import io.leasehold.servers.RedisSentinelGroup;
import io.leasehold.servers.RedisServer;
import io.leasehold.servers.ServerUnavailableException;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/** Real groups of servers. A machine without the binaries visibly skips the test. */
final class Groups {

    private Groups() {}

    static RedisReplicated replicated(int replicas) {
        return orSkip(() -> RedisReplicated.start(replicas));
    }

    static RedisSentinelGroup sentinel(int replicas, UnaryOperator<RedisServer.Builder> settings) {
        return orSkip(() -> RedisSentinelGroup.start(replicas, settings));
    }

    static RedisCluster cluster(int replicasEach, UnaryOperator<RedisServer.Builder> settings) {
        return orSkip(() -> RedisCluster.start(3, replicasEach, settings));
    }

    static <T> T orSkip(Supplier<T> start) {
        try {
            return start.get();
        } catch (ServerUnavailableException e) {
            return abort("no Redis server here: " + e.getMessage());
        }
    }
}
