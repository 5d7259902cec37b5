package io.leasehold.redis.wire;

import io.leasehold.LockName;
import io.leasehold.redis.RedisUnderTest;
import io.lettuce.core.ScriptOutputType;
import java.util.List;

/** Calls the scripts of a member of a set as the node does, for readers and writers of one lock; the test can set every argument. */
final class MemberScriptBench {

    static final String SET = "set";
    static final long BOUND = 7_500_000;
    static final String OWN = "lock:wake:own";

    private static final long SECOND = 1_000_000;

    final String lock;
    final String fence;
    final String watchers;
    final String readWatchers;
    final String readersWait;
    final String readers;
    private final RedisUnderTest server;

    MemberScriptBench(RedisUnderTest server, String name) {
        this.server = server;
        lock = KeyLayout.standard().lock(LockName.exactly(name));
        fence = KeyLayout.fence(lock);
        watchers = KeyLayout.watchers(lock);
        readWatchers = KeyLayout.readWatchers(lock);
        readersWait = KeyLayout.readersWait(lock);
        readers = KeyLayout.readers(lock);
    }

    /** One request. The order is the place of the caller: 0 if it does not wait. */
    record Caller(long order, long waitMillis, String channel, long ttlMillis, String configuration, long ageMicros) {

        static final Caller PLAIN = new Caller(0, 0, OWN, 30_000, SET, 0);

        Caller waiting(long place, String on) {
            return new Caller(place, 60_000, on, ttlMillis, configuration, ageMicros);
        }

        Caller patience(long millis) {
            return new Caller(order, millis, channel, ttlMillis, configuration, ageMicros);
        }

        Caller at(long place) {
            return new Caller(place, waitMillis, channel, ttlMillis, configuration, ageMicros);
        }

        Caller ttl(long millis) {
            return new Caller(order, waitMillis, channel, millis, configuration, ageMicros);
        }

        Caller of(String set) {
            return new Caller(order, waitMillis, channel, ttlMillis, set, ageMicros);
        }

        /** The age of its memory that the member lacks. */
        Caller young(long micros) {
            return new Caller(order, waitMillis, channel, ttlMillis, configuration, micros);
        }
    }

    void declareNew() {
        server.redis()
                .eval(
                        LuaScript.MEMBER_BIRTH.text(),
                        ScriptOutputType.MULTI,
                        new String[] {KeyLayout.marker()},
                        "*",
                        "0",
                        SET);
    }

    private List<Object> eval(LuaScript script, String[] keys, String... arguments) {
        return ScriptBench.yes(server.redis().eval(script.text(), ScriptOutputType.MULTI, keys, arguments));
    }

    List<Object> write(String owner, long candidate, Caller caller) {
        return eval(LuaScript.MEMBER_ACQUIRE, keys(), proposal(owner, candidate, caller));
    }

    /** The common case of a writer that does not wait: 1 if it has the lock, 0 if the whole script decides. */
    Object writeCommonly(String owner, long candidate) {
        String[] keys = {KeyLayout.marker(), lock, fence, readersWait};
        return eval(
                        LuaScript.MEMBER_ACQUIRE_MANY,
                        keys,
                        SET,
                        Long.toString(BOUND),
                        "volatile",
                        owner + ":" + candidate + ":host/1/" + owner.charAt(0),
                        "30000",
                        Long.toString(candidate),
                        "0")
                .get(2);
    }

    List<Object> read(String owner, long candidate, Caller caller) {
        return eval(LuaScript.MEMBER_READ_ACQUIRE, keys(), proposal(owner, candidate, caller));
    }

    private String[] keys() {
        return new String[] {lock, fence, watchers, KeyLayout.marker(), readWatchers, readers, readersWait};
    }

    private static String[] proposal(String owner, long candidate, Caller caller) {
        return new String[] {
            owner + ":" + candidate + ":host/1/" + owner.charAt(0),
            Long.toString(caller.ttlMillis()),
            Long.toString(candidate),
            Long.toString(candidate),
            Long.toString(60 * SECOND),
            Long.toString(BOUND),
            Long.toString(caller.waitMillis()),
            caller.channel(),
            Long.toString(caller.order()),
            caller.configuration(),
            "0",
            Long.toString(caller.ageMicros()),
            "volatile"
        };
    }

    List<Object> downgrade(String owner, long candidate, String writer, Caller caller) {
        return eval(
                LuaScript.MEMBER_READ_DOWNGRADE,
                new String[] {lock, fence, KeyLayout.marker(), readers},
                owner + ":" + candidate + ":host/1/" + owner.charAt(0),
                Long.toString(caller.ttlMillis()),
                Long.toString(candidate),
                Long.toString(candidate),
                writer,
                Long.toString(60 * SECOND),
                Long.toString(BOUND),
                caller.configuration(),
                "0",
                Long.toString(caller.ageMicros()),
                "volatile");
    }

    List<Object> endWriter(String owner, long ballot, String mode, String channel) {
        return end(LuaScript.MEMBER_RELEASE, owner, ballot, mode, channel);
    }

    List<Object> endReader(String owner, long ballot, String mode, String channel) {
        return end(LuaScript.MEMBER_READ_RELEASE, owner, ballot, mode, channel);
    }

    private List<Object> end(LuaScript script, String owner, long ballot, String mode, String channel) {
        return eval(
                script,
                new String[] {lock, fence, watchers, readWatchers, readers, readersWait},
                owner,
                Long.toString(ballot),
                Long.toString(60 * SECOND),
                Long.toString(BOUND),
                channel,
                Long.toString(SECOND),
                mode);
    }

    /** The server's clock. */
    long now() {
        List<String> time = server.redis().time();
        return Long.parseLong(time.get(0)) * SECOND + Long.parseLong(time.get(1));
    }

    /** Adds a waiter of this set that counts as alive until this time. */
    void watches(String set, long place, String channel, long untilMicros) {
        server.redis().zadd(set, (double) place, "q" + channel);
        server.redis().zadd(set, (double) -untilMicros, "a" + channel);
    }

    List<String> in(String set) {
        return server.redis().zrange(set, 0, -1);
    }
}
