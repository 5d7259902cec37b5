package io.leasehold.verify.client;

import io.leasehold.testkit.history.HistorySink;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.StatefulRedisConnection;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * The control for quorums: the published algorithm with an owner compare, and for a token the largest of the counters that the
 * nodes of the majority keep each for itself. Its tokens go down without any crash.
 */
final class UnballotedQuorum implements Contender {

    private static final String DELETE_OWN = script("delete_own.lua");

    private final List<RedisClient> clients = new ArrayList<>();
    private final List<@Nullable StatefulRedisConnection<String, String>> nodes = new ArrayList<>();
    private final SplittableRandom random = new SplittableRandom();
    private final Duration ttl;
    private final String process;
    private final HistorySink sink;
    private long attempts;

    UnballotedQuorum(String uris, Duration ttl, String process, HistorySink sink) {
        this.ttl = ttl;
        this.process = process;
        this.sink = sink;
        for (String uri : uris.split(",", -1)) {
            RedisURI address = RedisURI.create(uri);
            address.setTimeout(ttl.dividedBy(8));
            RedisClient client = RedisClient.create(address);
            clients.add(client);
            nodes.add(null);
        }
    }

    private StatefulRedisConnection<String, String> node(int index) {
        StatefulRedisConnection<String, String> connection = nodes.get(index);
        if (connection == null) {
            connection = clients.get(index).connect();
            nodes.set(index, connection);
        }
        return connection;
    }

    @Override
    public @Nullable Held acquire(String lock, Duration patience) throws InterruptedException {
        long start = System.nanoTime();
        String key = "lock:{" + lock + "}";
        while (System.nanoTime() - start < patience.toNanos()) {
            String owner = process + "/" + ++attempts;
            long sentAtNanos = System.nanoTime();
            int votes = 0;
            long token = 0;
            for (int i = 0; i < clients.size(); i++) {
                try {
                    if ("OK"
                            .equals(node(i).sync()
                                    .set(key, owner, SetArgs.Builder.nx().px(ttl)))) {
                        votes++;
                        token = Math.max(token, node(i).sync().incr("token:" + lock));
                    }
                } catch (RedisException e) {
                    // A node that does not answer has no vote.
                }
            }
            long left = ttl.toNanos() - ttl.toNanos() / 100 - 2_000_000 - (System.nanoTime() - sentAtNanos);
            if (votes > clients.size() / 2 && left > 0) {
                return new BelievedHold(sink, process, lock, token, () -> release(key, owner));
            }
            release(key, owner);
            Thread.sleep(10 + random.nextLong(40));
        }
        return null;
    }

    private static String script(String name) {
        try (InputStream in = Objects.requireNonNull(UnballotedQuorum.class.getResourceAsStream(name), name)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void release(String key, String owner) {
        for (int i = 0; i < clients.size(); i++) {
            try {
                node(i).sync().eval(DELETE_OWN, ScriptOutputType.INTEGER, new String[] {key}, owner);
            } catch (RedisException e) {
                // Its ttl ends it.
            }
        }
    }

    @Override
    public void close() {
        clients.forEach(RedisClient::shutdown);
    }
}
