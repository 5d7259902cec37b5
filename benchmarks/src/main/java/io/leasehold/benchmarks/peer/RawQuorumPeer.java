package io.leasehold.benchmarks.peer;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.resource.ClientResources;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The minimal cost of a lock over a quorum: it asks all servers at once, and the quorum-th reply counts. No token, no
 * undo, no renewal; if the quorum refuses, it gives up.
 */
final class RawQuorumPeer implements Peer {

    private final ClientResources threads =
            ClientResources.builder().ioThreadPoolSize(2).build();
    private final List<RedisClient> clients = new ArrayList<>();
    private final List<StatefulRedisConnection<String, String>> connections = new ArrayList<>();
    private final String acquire;
    private final String release;
    private final String ttlMillis;
    private final int quorum;

    RawQuorumPeer(List<String> servers, Duration ttl) {
        String acquireSha = "";
        String releaseSha = "";
        for (String server : servers) {
            RedisClient client = RedisClient.create(threads, server);
            client.setOptions(ClientOptions.builder()
                    .autoReconnect(false)
                    .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                    .build());
            StatefulRedisConnection<String, String> connection = client.connect();
            acquireSha = connection.sync().scriptLoad(Scripts.setIfAbsent());
            releaseSha = connection.sync().scriptLoad(Scripts.compareAndDelete());
            clients.add(client);
            connections.add(connection);
        }
        acquire = acquireSha;
        release = releaseSha;
        ttlMillis = Long.toString(ttl.toMillis());
        quorum = servers.size() / 2 + 1;
    }

    @Override
    public Held acquire(String name) {
        String[] key = {keyOf(name)};
        String owner = UUID.randomUUID().toString();
        ask(
                "acquire " + name,
                reply -> reply != null,
                redis -> redis.evalsha(acquire, ScriptOutputType.STATUS, key, owner, ttlMillis));
        return () -> ask(
                "release " + name,
                reply -> true,
                redis -> redis.evalsha(release, ScriptOutputType.INTEGER, key, owner));
    }

    private void ask(
            String what,
            Predicate<@Nullable Object> yes,
            Function<RedisAsyncCommands<String, String>, ? extends CompletionStage<?>> request) {
        CompletableFuture<Boolean> decided = new CompletableFuture<>();
        AtomicInteger ayes = new AtomicInteger();
        AtomicInteger noes = new AtomicInteger();
        for (StatefulRedisConnection<String, String> connection : connections) {
            request.apply(connection.async()).whenComplete((reply, error) -> {
                if (error == null && yes.test(reply)) {
                    if (ayes.incrementAndGet() == quorum) {
                        decided.complete(true);
                    }
                } else if (noes.incrementAndGet() > connections.size() - quorum) {
                    decided.complete(false);
                }
            });
        }
        if (!decided.join()) {
            throw new IllegalStateException("no quorum to " + what);
        }
    }

    @Override
    public String keyOf(String name) {
        return "raw:" + name;
    }

    @Override
    public void close() {
        connections.forEach(StatefulRedisConnection::closeAsync);
        clients.forEach(client -> client.shutdown(Duration.ZERO, Duration.ofSeconds(2)));
        threads.shutdown();
    }
}
