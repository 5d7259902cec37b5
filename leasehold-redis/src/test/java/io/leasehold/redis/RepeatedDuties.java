package io.leasehold.redis;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisServer;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** A client whose repeated duties run sooner, and the server's counts of them. */
final class RepeatedDuties {

    private RepeatedDuties() {}

    static final Duration LONG = Duration.ofMinutes(10);

    /** Timers with this delay or a longer one fire sooner after the opening, so that the test sees the duty repeat. */
    private static final long LATE_NANOS = TimeUnit.SECONDS.toNanos(5);

    private static final long SOONER_NANOS = TimeUnit.MILLISECONDS.toNanos(400);

    static LockClient hurried(String uri) {
        return Leasehold.builder()
                .store(runtime -> {
                    WatchedRuntime watched = new WatchedRuntime(runtime, delay -> true);
                    LockStore store = new RedisStoreProvider().open(StoreUri.parse(uri), watched);
                    watched.hurry(LATE_NANOS, SOONER_NANOS);
                    return store;
                })
                .defaults(LockOptions.defaults().ttl(LONG).recheck(LONG))
                .connect();
    }

    static void isHeldByAStranger(RedisServer server, String name) {
        server.call("SET", "lock:{" + name + "}", "a stranger", "PX", "600000");
    }

    static long calls(RedisServer server, String command) {
        return CommandCounts.of(server).of(command);
    }

    static long listeners(RedisServer server) {
        return server.call("CLIENT", "LIST", "TYPE", "PUBSUB")
                .lines()
                .filter(line -> line.contains("sub=1"))
                .count();
    }

    static long rejected(RedisServer server, String command) {
        return server.call("INFO", "commandstats")
                .lines()
                .filter(line -> line.startsWith("cmdstat_" + command + ":"))
                .mapToLong(line -> Long.parseLong(line.replaceAll(".*rejected_calls=(\\d+).*", "$1")))
                .sum();
    }

    static RedisServer masterOf(RedisCluster cluster, String name) {
        return cluster.masterOf(
                Integer.parseInt(cluster.nodes().get(0).call("CLUSTER", "KEYSLOT", "lock:{" + name + "}")));
    }

    static boolean listensToSlots(RedisServer server) {
        return !server.call("PUBSUB", "SHARDCHANNELS").isBlank();
    }
}
