package io.leasehold.redis;

import io.leasehold.LockName;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.servers.RedisServer;
import java.util.List;
import java.util.Objects;

/** The keys of a lock at Redis servers, without its fence, which expires by itself. */
final class KeptKeys {

    private static final KeyLayout KEYS = KeyLayout.of("lock:{*}");

    private KeptKeys() {}

    static List<String> of(List<RedisServer> servers, LockName name) {
        String lock = KEYS.lock(name);
        List<String> keys = List.of(
                lock,
                KeyLayout.queued(lock),
                KeyLayout.behind(lock),
                KeyLayout.wanted(lock),
                KeyLayout.watchers(lock),
                KeyLayout.readWatchers(lock),
                KeyLayout.readersWait(lock));
        return servers.stream()
                .flatMap(server -> keys.stream().map(key -> content(server, key)))
                .filter(Objects::nonNull)
                .sorted()
                .toList();
    }

    private static String content(RedisServer server, String key) {
        return switch (server.call("TYPE", key).strip()) {
            case "none" -> null;
            case "zset" -> key + " " + server.call("ZRANGE", key, "0", "-1");
            case "hash" -> key + " " + server.call("HKEYS", key);
            case "list" -> key + " " + server.call("LRANGE", key, "0", "-1");
            case "set" -> key + " " + server.call("SMEMBERS", key);
            default -> key;
        };
    }
}
