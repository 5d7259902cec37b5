package io.leasehold.demo.actor;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Redlock as it was published: {@code SET NX PX} at each node in turn, a quorum of yes, a validity of ttl minus elapsed
 * time minus drift, compare-and-delete at all nodes. Every node is trusted. For a token, each node that said yes counts
 * with {@code INCR}; the largest count is the token.
 */
final class PublishedRedlock implements ActorLock {

    /** Long enough for slow nodes: on a busy machine no node must be missed. */
    private static final Duration NODE_TIMEOUT = Duration.ofSeconds(10);

    private static final long RETRY_MILLIS = 50;
    private static final long DRIFT_PERCENT = 1;
    private static final long DRIFT_NANOS = 2_000_000;

    private final List<RedisURI> nodes;
    private final String key;
    private final Duration ttl;
    private final RedisClient client = RedisClient.create();

    PublishedRedlock(List<String> uris, String name, Duration ttl) {
        this.nodes = uris.stream().map(RedisURI::create).toList();
        nodes.forEach(node -> node.setTimeout(NODE_TIMEOUT));
        this.key = "lock:{" + name + "}";
        this.ttl = ttl;
    }

    @Override
    public Answer acquire(Duration patience, Interlude between) throws InterruptedException {
        long sinceNanos = System.nanoTime();
        while (true) {
            String value = UUID.randomUUID().toString();
            long sentAtNanos = System.nanoTime();
            int yes = 0;
            long token = 0;
            for (RedisURI node : nodes) {
                Long count = at(node, redis -> ask(redis, value));
                if (count != null && count > 0) {
                    yes++;
                    token = Math.max(token, count);
                }
            }
            long validUntilNanos = sentAtNanos + ttl.toNanos() * (100 - DRIFT_PERCENT) / 100 - DRIFT_NANOS;
            if (yes > nodes.size() / 2 && validUntilNanos - System.nanoTime() > 0) {
                return new Granted(new TimedHold(token, validUntilNanos, betweenSteps -> release(value)));
            }
            release(value);
            if (System.nanoTime() - sinceNanos >= patience.toNanos()) {
                return new Denied(yes + " of " + nodes.size() + " nodes said yes");
            }
            Thread.sleep(RETRY_MILLIS);
        }
    }

    private Long ask(RedisCommands<String, String> redis, String value) {
        boolean ours = redis.set(key, value, SetArgs.Builder.nx().px(ttl)) != null;
        return ours ? redis.incr(key + ":count") : Long.valueOf(0);
    }

    private String release(String value) {
        int deleted = 0;
        for (RedisURI node : nodes) {
            Long one = at(
                    node,
                    redis -> redis.<Long>eval(
                            BrokenLock.COMPARE_AND_DELETE, ScriptOutputType.INTEGER, new String[] {key}, value));
            deleted += one == null ? 0 : one.intValue();
        }
        return "deleted at " + deleted + " of " + nodes.size() + " nodes";
    }

    /** A request to one node. */
    private interface Question {
        Long ask(RedisCommands<String, String> redis);
    }

    /** Uses a separate connection, so that a restarted node is reached again. Null if the node fails or refuses. */
    private @Nullable Long at(RedisURI node, Question question) {
        try (StatefulRedisConnection<String, String> connection = client.connect(node)) {
            return question.ask(connection.sync());
        } catch (RedisException noAnswer) {
            return null;
        }
    }

    @Override
    public void close() {
        client.shutdown(Duration.ZERO, Duration.ofSeconds(1));
    }
}
