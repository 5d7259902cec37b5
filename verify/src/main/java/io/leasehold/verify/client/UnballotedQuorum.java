package io.leasehold.verify.client;

import io.leasehold.simulator.history.HistorySink;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;

/**
 * The control for quorums: the published algorithm with an owner compare. Its token is the largest of the counters that
 * each node of the majority keeps separately. Its tokens decrease without any crash.
 */
final class UnballotedQuorum implements Contender {

    private static final String DELETE_OWN = script("delete_own.lua");

    private final List<RedisClient> clients = new ArrayList<>();
    private final List<@Nullable StatefulRedisConnection<String, String>> nodes = new ArrayList<>();
    private final SplittableRandom random = new SplittableRandom();
    private final Duration ttl;
    private final long patienceNanos;
    private final String process;
    private final HistorySink sink;
    private long attempts;

    UnballotedQuorum(String uris, Duration ttl, String process, HistorySink sink) {
        this.ttl = ttl;
        this.patienceNanos = ttl.dividedBy(8).toNanos();
        this.process = process;
        this.sink = sink;
        for (String uri : uris.split(",", -1)) {
            RedisURI address = RedisURI.create(uri);
            address.setTimeout(Duration.ofNanos(patienceNanos));
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
            List<@Nullable String> votes = askAll(
                    node -> true,
                    node -> node.set(key, owner, SetArgs.Builder.nx().px(ttl)));
            List<@Nullable Long> counts =
                    askAll(node -> "OK".equals(votes.get(node)), node -> node.incr("token:" + lock));
            long won = votes.stream().filter("OK"::equals).count();
            long token = counts.stream()
                    .filter(Objects::nonNull)
                    .mapToLong(count -> count)
                    .max()
                    .orElse(0);
            long left = ttl.toNanos() - ttl.toNanos() / 100 - 2_000_000 - (System.nanoTime() - sentAtNanos);
            if (won > clients.size() / 2 && left > 0) {
                return new BelievedHold(sink, process, lock, token, () -> release(key, owner));
            }
            release(key, owner);
            Thread.sleep(10 + random.nextLong(40));
        }
        return null;
    }

    /** The replies of these nodes, each by its number; null for a node that does not reply in time. */
    private <T> List<@Nullable T> askAll(
            IntPredicate asked, Function<RedisAsyncCommands<String, String>, RedisFuture<T>> request) {
        List<@Nullable RedisFuture<T>> sent = new ArrayList<>();
        for (int i = 0; i < clients.size(); i++) {
            RedisFuture<T> future = null;
            try {
                future = asked.test(i) ? request.apply(node(i).async()) : null;
            } catch (RedisException e) {
                // A node that cannot be reached has no vote.
            }
            sent.add(future);
        }
        long deadline = System.nanoTime() + patienceNanos;
        List<@Nullable T> answers = new ArrayList<>();
        for (RedisFuture<T> future : sent) {
            answers.add(future == null ? null : answer(future, deadline - System.nanoTime()));
        }
        return answers;
    }

    private static <T> @Nullable T answer(RedisFuture<T> future, long withinNanos) {
        try {
            return future.get(Math.max(0, withinNanos), TimeUnit.NANOSECONDS);
        } catch (ExecutionException | TimeoutException e) {
            return null;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return null;
        }
    }

    private static String script(String name) {
        try (InputStream in = Objects.requireNonNull(UnballotedQuorum.class.getResourceAsStream(name), name)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Releases the lock at all nodes; if a request does not arrive, the ttl ends it. */
    private void release(String key, String owner) {
        askAll(node -> true, node -> node.<Long>eval(DELETE_OWN, ScriptOutputType.INTEGER, new String[] {key}, owner));
    }

    @Override
    public void close() {
        clients.forEach(RedisClient::shutdown);
    }
}
