package io.leasehold.redis.wire;

import io.leasehold.LockName;
import io.leasehold.redis.RedisUnderTest;
import io.lettuce.core.ScriptOutputType;
import java.util.List;
import java.util.Locale;

/** The scripts for the permits of one name, and their record at a server under test. */
final class PermitBench {

    final String record;
    private final LockName name;
    private final RedisUnderTest server;

    PermitBench(RedisUnderTest server, String name) {
        this.server = server;
        this.name = LockName.exactly(name).asPermits();
        this.record = KeyLayout.standard().lock(this.name);
    }

    /** The owner token that a letter stands for. */
    static String owner(String letter) {
        return letter.toLowerCase(Locale.ROOT).repeat(40);
    }

    /**
     * Proposes a ballot.
     *
     * @param words the count, the letter of the owner token, the candidate and the last token
     * @param channel the channel of a waiter; empty for a caller that does not wait
     */
    List<Object> acquire(String[] words, String channel) {
        return acquire(words, channel, "4000");
    }

    /** As the other overload; with a claim of 0 the waiter is only woken. */
    List<Object> acquire(String[] words, String channel, String claim) {
        String[] few = {owner(words[1]), "vector/2", "30000", words[2], words[3], words[0]};
        String[] waiting = {few[0], few[1], few[2], few[3], few[4], few[5], "60000", channel, claim};
        return eval(
                LuaScript.PERMITS_ACQUIRE, KeyLayout.standard().allOfPermits(name), channel.isEmpty() ? few : waiting);
    }

    /** A request of a waiter that knows the run id of its server. */
    List<Object> acquireNaming(String[] words, String channel, String runId) {
        return eval(
                LuaScript.PERMITS_ACQUIRE,
                KeyLayout.standard().allOfPermits(name),
                owner(words[1]),
                "vector/2",
                "30000",
                words[2],
                words[3],
                words[0],
                "60000",
                channel,
                "4000",
                runId);
    }

    /** As a client that knows the run id of its server. */
    List<Object> releaseNaming(String letter, String ballot, String runId) {
        return eval(LuaScript.PERMITS_RELEASE, keys(), owner(letter), ballot, runId);
    }

    List<Object> release(String letter, String ballot) {
        return eval(LuaScript.PERMITS_RELEASE, keys(), owner(letter), ballot);
    }

    List<Object> releaseKey(String letter, String ballot) {
        return eval(LuaScript.PERMITS_RELEASE_KEY, new String[] {record}, owner(letter), ballot);
    }

    List<Object> renew(String letter, String ttlMillis) {
        return eval(LuaScript.PERMITS_RENEW, new String[] {record}, ttlMillis, owner(letter) + ":");
    }

    List<Object> change(String count, String version) {
        return eval(LuaScript.PERMITS_CHANGE, KeyLayout.standard().allOfPermits(name), count, version);
    }

    List<Object> forceRelease(String slot, String holder) {
        return eval(LuaScript.PERMITS_FORCE_RELEASE, keys(), slot, holder);
    }

    /** Whether the owner token waits behind the front of the queue. */
    boolean isBehind(String letter) {
        boolean hasPlace = server.redis().zscore(keys()[2], "q" + owner(letter)) != null;
        boolean isAlive = server.redis().zscore(keys()[2], "a" + owner(letter)) != null;
        boolean isWanted = server.redis().hexists(keys()[3], owner(letter));
        if (hasPlace != isAlive || hasPlace != isWanted) {
            throw new AssertionError(letter + " has left behind a part of its place");
        }
        return hasPlace;
    }

    private String[] keys() {
        return KeyLayout.standard().keysOfPermits(name);
    }

    private List<Object> eval(LuaScript script, String[] keys, String... arguments) {
        return server.redis().eval(script.text(), ScriptOutputType.MULTI, keys, arguments);
    }

    void set(String field, String value) {
        server.redis().hset(record, field, value);
    }

    /** Sets the key of the exclusive lock of this name, or deletes it for {@code -}. */
    void setLock(String value) {
        String lock = KeyLayout.standard().lock(LockName.exactly(name.text()));
        if (value.equals("-")) {
            server.redis().del(lock);
        } else {
            server.redis().set(lock, value);
        }
    }

    /** The value of a field, or {@code -}. */
    String get(String field) {
        String value = server.redis().hget(record, field);
        return value == null ? "-" : value;
    }
}
