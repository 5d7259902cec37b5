package io.leasehold.demo.actor;

import io.lettuce.core.RedisClient;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import java.time.Duration;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The common hand-made locks on one Redis, each with its own mistake and otherwise correct. Not to be copied.
 */
final class BrokenLock implements ActorLock {

    /** Deletes the key if it has this value: the correct release. */
    static final String COMPARE_AND_DELETE = ScriptFile.read(BrokenLock.class, "compare-and-delete.lua");

    private static final String SAME_FOR_ALL = "locked";
    private static final long RETRY_MILLIS = 20;

    private final Scheme scheme;
    private final String key;
    private final Duration ttl;
    private final RedisClient client;
    private final StatefulRedisConnection<String, String> connection;
    private final RedisCommands<String, String> redis;

    BrokenLock(Scheme scheme, String uri, String name, Duration ttl) {
        this.scheme = scheme;
        this.key = "lock:{" + name + "}";
        this.ttl = ttl;
        this.client = RedisClient.create(uri);
        this.connection = client.connect();
        this.redis = connection.sync();
    }

    @Override
    public Answer acquire(Duration patience, Interlude between) throws InterruptedException {
        long sinceNanos = System.nanoTime();
        while (true) {
            Hold hold = tryOnce(between);
            if (hold != null) {
                return new Granted(hold);
            }
            if (System.nanoTime() - sinceNanos >= patience.toNanos()) {
                // The server's reply to PTTL for a key that never expires.
                return new Denied(redis.pttl(key) == -1 ? "busy, and the key has no ttl" : "busy");
            }
            Thread.sleep(RETRY_MILLIS);
        }
    }

    private @Nullable Hold tryOnce(Interlude between) throws InterruptedException {
        long sentAtNanos = System.nanoTime();
        String value =
                scheme == Scheme.FIXED_VALUE ? SAME_FOR_ALL : UUID.randomUUID().toString();
        boolean ours = switch (scheme) {
            case SETNX_THEN_EXPIRE -> setThenExpire(value, between);
            case GET_THEN_SET -> getThenSet(value, between);
            default -> redis.set(key, value, SetArgs.Builder.nx().px(ttl)) != null;
        };
        return ours
                ? new TimedHold(0, sentAtNanos + ttl.toNanos(), betweenSteps -> release(value, betweenSteps))
                : null;
    }

    // SETNX is deprecated for the reason shown here: it cannot set a ttl.
    @SuppressWarnings("deprecation")
    private boolean setThenExpire(String value, Interlude between) throws InterruptedException {
        if (!redis.setnx(key, value)) {
            return false;
        }
        between.between("SETNX");
        return redis.pexpire(key, ttl);
    }

    private boolean getThenSet(String value, Interlude between) throws InterruptedException {
        if (redis.get(key) != null) {
            return false;
        }
        between.between("GET");
        redis.set(key, value, SetArgs.Builder.px(ttl));
        return true;
    }

    private String release(String value, Interlude between) throws InterruptedException {
        return switch (scheme) {
            case DELETE_WITHOUT_COMPARE -> said(redis.del(key));
            case GET_THEN_DELETE -> {
                boolean ours = value.equals(redis.get(key));
                between.between("GET");
                yield ours ? said(redis.del(key)) : "not ours";
            }
            default -> {
                long deleted = redis.eval(COMPARE_AND_DELETE, ScriptOutputType.INTEGER, new String[] {key}, value);
                yield said(deleted);
            }
        };
    }

    private static String said(long deleted) {
        return deleted == 1 ? "deleted" : "nothing deleted";
    }

    @Override
    public void close() {
        connection.close();
        client.shutdown(Duration.ZERO, Duration.ofSeconds(1));
    }
}
