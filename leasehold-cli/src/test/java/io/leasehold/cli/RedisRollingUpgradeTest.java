package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisReplicated;
import io.leasehold.servers.RedisSentinelGroup;
import io.leasehold.servers.RedisServer;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** {@link RollingUpgrade} over each topology of Redis, and over a Redlock set. */
@Tag("full")
class RedisRollingUpgradeTest extends RollingUpgrade {

    @Test
    void redis() {
        try (RedisServer server = RedisServer.start()) {
            shareLocks(server.uri());
        }
    }

    @Test
    void redisReplicated() {
        try (RedisReplicated servers = RedisReplicated.start(1)) {
            shareLocks(servers.uri());
        }
    }

    @Test
    void redisSentinel() {
        try (RedisSentinelGroup group = RedisSentinelGroup.start(1)) {
            shareLocks(group.uri());
        }
    }

    @Test
    void redisCluster() {
        try (RedisCluster cluster = RedisCluster.start()) {
            shareLocks(cluster.uri());
        }
    }

    @Test
    void redlock() {
        List<RedisServer> servers = new ArrayList<>();
        try {
            for (int i = 0; i < 3; i++) {
                servers.add(RedisServer.start());
            }
            String nodes = servers.stream()
                    .map(server -> "node=" + URLEncoder.encode(server.uri(), StandardCharsets.UTF_8))
                    .collect(Collectors.joining("&"));
            StartedCli.Setup today = today("redlock:?" + nodes);
            StartedCli init = today.run("redlock", "init", "--yes");
            assertThat(init.exitCode()).as(init::err).isZero();
            shareLocks("redlock:?" + nodes);
        } finally {
            servers.forEach(RedisServer::close);
        }
    }
}
