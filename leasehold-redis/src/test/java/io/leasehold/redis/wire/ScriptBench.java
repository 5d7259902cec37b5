package io.leasehold.redis.wire;

import io.leasehold.LockName;
import io.leasehold.redis.RedisUnderTest;
import io.leasehold.redis.StoredQueue;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Calls the scripts as the node does; the test can set every argument. */
final class ScriptBench {

    static final String ALICE = "a".repeat(40);
    static final String BOB = "b".repeat(40);
    static final String CAROL = "c".repeat(40);
    static final long SECOND = 1_000_000;
    /** The value of a lock that readers hold. */
    static final String MARKER = "0".repeat(40) + "::readers";

    private static final String WINDOW = "local WINDOW = 3000000";

    final String lock;
    final String fence;
    final String queued;
    final String behind;
    final String wanted;
    final String readers;
    private final RedisUnderTest server;
    private boolean small;

    ScriptBench(RedisUnderTest server, String name) {
        this.server = server;
        this.lock = KeyLayout.standard().lock(LockName.exactly(name));
        this.fence = KeyLayout.fence(lock);
        this.queued = KeyLayout.queued(lock);
        this.behind = KeyLayout.behind(lock);
        this.wanted = KeyLayout.wanted(lock);
        this.readers = KeyLayout.readers(lock);
    }

    /** One proposal, with the standard durations by default. */
    static final class Proposal {
        String holder = "host/1/x";
        long ttlMillis = 30_000;
        int reserve = 1;
        long placeMillis;
        String channel = "lock:wake:none";
        long claimMillis;
        long window = SECOND;

        Proposal holder(String value) {
            holder = value;
            return this;
        }

        Proposal ttl(long millis) {
            ttlMillis = millis;
            return this;
        }

        Proposal reserve(int value) {
            reserve = value;
            return this;
        }

        Proposal waiting(long millis, String on) {
            placeMillis = millis;
            channel = on;
            return this;
        }

        Proposal claiming(long millis) {
            claimMillis = millis;
            return this;
        }

        Proposal on(String value) {
            channel = value;
            return this;
        }

        Proposal window(long micros) {
            window = micros;
            return this;
        }
    }

    static Proposal plain() {
        return new Proposal();
    }

    private String[] keys() {
        return KeyLayout.allOf(lock);
    }

    /** Limits the front of the queue to two or three waiters from now on. */
    ScriptBench small() {
        small = true;
        return this;
    }

    List<Object> acquire(String owner, long candidate) {
        return acquire(owner, candidate, plain());
    }

    List<Object> acquire(String owner, long candidate, Proposal p) {
        String script = LuaScript.ACQUIRE.text().replace(WINDOW, "local WINDOW = " + p.window);
        List<Object> reply = eval(
                script,
                keys(),
                owner + ":" + candidate + ":" + p.holder,
                Long.toString(p.ttlMillis),
                Long.toString(candidate),
                Long.toString(candidate + p.reserve - 1),
                Long.toString(p.placeMillis),
                p.channel,
                Long.toString(p.claimMillis));
        return yes(reply);
    }

    /** Converts the short answer of the common case to the long one. */
    static List<Object> yes(List<Object> reply) {
        return reply.size() == 2 && reply.get(0).toString().matches("[0-9]+")
                ? List.of(
                        "yes",
                        Long.toString(Long.parseLong(reply.get(0).toString()) * SECOND
                                + Long.parseLong(reply.get(1).toString())))
                : reply;
    }

    List<Object> release(String owner, long ballot) {
        return release(owner, ballot, SECOND);
    }

    List<Object> release(String owner, long ballot, long window) {
        String script = LuaScript.RELEASE.text().replace(WINDOW, "local WINDOW = " + window);
        return eval(script, keys(), owner, Long.toString(ballot));
    }

    /** A release from a client that knows the run id of its server. */
    List<Object> releaseNaming(String owner, long ballot, String runId) {
        return eval(LuaScript.RELEASE, keys(), owner, Long.toString(ballot), runId);
    }

    /** A request of a waiter that knows the run id of its server. */
    List<Object> acquireNaming(String owner, long candidate, String channel, String runId) {
        String value = owner + ":" + candidate + ":host/9/z";
        String token = Long.toString(candidate);
        return eval(LuaScript.ACQUIRE, keys(), value, "30000", token, token, "60000", channel, "4000", runId);
    }

    List<Object> nameSuccessor(String owner, String holderId) {
        return eval(LuaScript.NAME_SUCCESSOR, new String[] {lock, queued, behind, wanted}, owner, holderId);
    }

    /** The value of a ticket, with the token 7 for operators. */
    static String ticketOf(String ticket) {
        return ticket + ":7:ticket of host/1/x";
    }

    List<Object> export(String owner, long ballot, String ticket, long claimMillis) {
        return eval(
                LuaScript.EXPORT,
                new String[] {lock, fence},
                owner,
                Long.toString(ballot),
                ticketOf(ticket),
                Long.toString(claimMillis));
    }

    List<Object> resume(String owner, long candidate, String ticket) {
        return eval(
                LuaScript.RESUME,
                new String[] {lock, fence},
                owner + ":" + candidate + ":host/1/x",
                "30000",
                Long.toString(candidate),
                ticket);
    }

    List<Object> readAcquire(String owner, long candidate, Proposal p) {
        String script = LuaScript.READ_ACQUIRE.text().replace(WINDOW, "local WINDOW = " + p.window);
        return eval(
                script,
                keys(),
                owner + ":" + candidate + ":" + p.holder,
                Long.toString(p.ttlMillis),
                Long.toString(candidate),
                Long.toString(candidate + p.reserve - 1),
                Long.toString(p.placeMillis),
                p.channel,
                Long.toString(p.claimMillis));
    }

    List<Object> readAcquire(String owner, long candidate) {
        return readAcquire(owner, candidate, plain());
    }

    List<Object> readRelease(String owner, long ballot) {
        return eval(LuaScript.READ_RELEASE, keys(), owner, Long.toString(ballot));
    }

    List<Object> readReleaseKey(String owner, long ballot) {
        return eval(LuaScript.READ_RELEASE_KEY, new String[] {readers}, owner, Long.toString(ballot));
    }

    List<Object> readRenew(String owner, long ttlMillis) {
        return eval(LuaScript.READ_RENEW, new String[] {lock, readers}, Long.toString(ttlMillis), owner + ":");
    }

    List<Object> downgrade(String owner, long candidate, String writer, Proposal p) {
        return eval(
                LuaScript.READ_DOWNGRADE,
                keys(),
                owner + ":" + candidate + ":" + p.holder,
                Long.toString(p.ttlMillis),
                Long.toString(candidate),
                Long.toString(candidate + p.reserve - 1),
                writer);
    }

    List<Object> downgrade(String owner, long candidate, String writer) {
        return downgrade(owner, candidate, writer, plain());
    }

    List<Object> readForceRelease(String holder) {
        return eval(LuaScript.READ_FORCE_RELEASE, keys(), holder);
    }

    List<Object> readInspect(int limit) {
        return eval(LuaScript.READ_INSPECT, new String[] {lock, readers}, Integer.toString(limit));
    }

    List<Object> renew(String[] keys, String... ttlAndOwners) {
        return eval(LuaScript.RENEW, keys, ttlAndOwners);
    }

    List<Object> inspect() {
        return eval(LuaScript.INSPECT, new String[] {lock});
    }

    List<Object> forceRelease(String holder) {
        return eval(LuaScript.FORCE_RELEASE, keys(), holder);
    }

    private List<Object> eval(LuaScript script, String[] keys, String... arguments) {
        return eval(script.text(), keys, arguments);
    }

    private List<Object> eval(String text, String[] keys, String... arguments) {
        String script = small
                ? text.replace("local FRONT = 900", "local FRONT = 250").replace("local STEP = 6", "local STEP = 2")
                : text;
        return server.redis().eval(script, ScriptOutputType.MULTI, keys, arguments);
    }

    /** The server's clock. */
    long now() {
        List<String> time = server.redis().time();
        return Long.parseLong(time.get(0)) * SECOND + Long.parseLong(time.get(1));
    }

    /** The front of the queue. */
    StoredQueue queue() {
        return StoredQueue.of(server.redis().get(queued));
    }

    /** The waiters in their order. */
    List<String> everybody() {
        return StoredQueue.everybody(server.redis(), lock);
    }

    /** The waiters that count as alive, in their order. */
    List<String> everybodyAlive() {
        long now = now();
        return queue().waiters().stream()
                .filter(waiter -> waiter.alive() > now)
                .map(StoredQueue.Waiter::owner)
                .toList();
    }

    /** Lets a waiter in front count as dead. */
    void killWaiter(String owner) {
        String[] lines = server.redis().get(queued).split("\n", -1);
        for (int i = 1; i < lines.length; i++) {
            if (lines[i].startsWith(owner)) {
                lines[i] = lines[i].replaceFirst("^(\\S+ \\d+) \\d+", "$1 1");
            }
        }
        lines[0] = lines[0].replaceFirst("^2 \\d+", "2 1");
        server.redis()
                .set(
                        queued,
                        String.join("\n", lines),
                        SetArgs.Builder.px(server.redis().pttl(queued)));
    }

    private Map<String, String[]> entries() {
        Map<String, String[]> entries = new TreeMap<>();
        server.redis().hgetall(readers).forEach((owner, entry) -> {
            if (!owner.equals("all")) {
                entries.put(owner, entry.split(" ", 3));
            }
        });
        return entries;
    }

    /** The readers that have not ended, with their tokens. */
    Map<String, Long> liveReaders() {
        long now = now();
        Map<String, Long> live = new TreeMap<>();
        entries().forEach((owner, entry) -> {
            if (Long.parseLong(entry[0]) > now) {
                live.put(owner, Long.parseLong(entry[1]));
            }
        });
        return live;
    }

    /** The largest end of a reader in us; 0 without readers. */
    long lastReaderEnds() {
        return entries().values().stream()
                .mapToLong(entry -> Long.parseLong(entry[0]))
                .max()
                .orElse(0);
    }

    /** The end of the lock in us, to within a few milliseconds. */
    long markerEnds() {
        return now() + server.redis().pttl(lock) * 1_000;
    }

    /** Lets a reader end as if its time was over; if the others end later, the lock does too. */
    void expireReader(String owner) {
        String[] entry = entries().get(owner);
        server.redis().hset(readers, owner, "1 " + entry[1] + " " + entry[2]);
        long last = lastReaderEnds();
        String all = server.redis().hget(readers, "all");
        server.redis().hset(readers, "all", all.replaceFirst("\\d+$", Long.toString(last)));
        if (last == 1) {
            server.redis().del(lock);
        } else {
            server.redis().pexpireat(lock, (last + 999) / 1_000);
        }
    }

    /**
     * What a move of the slot does whose target's clock is ahead by this time: the lock keeps its ttl, and the readers end in
     * the TIME of the former master.
     */
    void moveToClockAheadBy(long micros) {
        server.redis().hgetall(readers).forEach((field, text) -> {
            String[] parts = text.split(" ", 3);
            int end = field.equals("all") ? 2 : 0;
            parts[end] = Long.toString(Long.parseLong(parts[end]) - micros);
            server.redis().hset(readers, field, String.join(" ", parts));
        });
    }

    long storedFence() {
        String text = server.redis().get(fence);
        return text == null ? 0 : Long.parseLong(text);
    }

    static long number(List<Object> reply, int index) {
        return Long.parseLong((String) reply.get(index));
    }
}
