package io.leasehold.benchmarks.peer;

import io.lettuce.core.RedisClient;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import java.time.Duration;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** One connection, two scripts; no token, no renewal, no queue. */
final class RawPeer implements Peer {

    private final RedisClient client;
    private final StatefulRedisConnection<String, String> connection;
    private final RedisAsyncCommands<String, String> commands;
    private final String acquire;
    private final String release;
    private final String ttlMillis;

    RawPeer(String uri, Duration ttl) {
        client = RedisClient.create(uri);
        connection = client.connect();
        commands = connection.async();
        acquire = connection.sync().scriptLoad(Scripts.setIfAbsent());
        release = connection.sync().scriptLoad(Scripts.compareAndDelete());
        ttlMillis = Long.toString(ttl.toMillis());
    }

    @Override
    public Held acquire(String name) throws InterruptedException {
        String[] key = {keyOf(name)};
        String owner = UUID.randomUUID().toString();
        while (call(acquire, ScriptOutputType.STATUS, key, owner, ttlMillis) == null) {
            Polling.pause();
        }
        return () -> call(release, ScriptOutputType.INTEGER, key, owner);
    }

    private @Nullable Object call(String script, ScriptOutputType type, String[] key, String... values) {
        return commands.evalsha(script, type, key, values).toCompletableFuture().join();
    }

    @Override
    public String keyOf(String name) {
        return "raw:" + name;
    }

    @Override
    public void close() {
        connection.close();
        client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
    }
}
