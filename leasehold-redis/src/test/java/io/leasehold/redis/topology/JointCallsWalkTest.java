package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.spi.toolkit.Failure;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.protocol.RedisCommand;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Tests joint calls on random walks, without threads. The random choices are: the requests; when the connection writes;
 * when the server answers, declines, refuses or is lost; and the request of another thread just before a call reaches
 * the connection. The server is a few lines that grant and release by owner token and fence.
 */
@Tag("full")
class JointCallsWalkTest {

    private static final int WALKS = Integer.getInteger("leasehold.joint.walks", 200);
    private static final int STEPS = 150;

    @Test
    void eachCallHasItsOwnAnswerInTheOrderOfItsLock() {
        Set<String> seen = new HashSet<>();
        for (long seed = 1; seed <= WALKS; seed++) {
            new Walk(seed, seen).run();
        }
        assertThat(seen)
                .contains(
                        "joint",
                        "full",
                        "declined",
                        "refused",
                        "lost",
                        "noscript",
                        "given up",
                        "undo",
                        "granted",
                        "released",
                        "done alone",
                        "declined alone",
                        "noscript alone",
                        "behind what was sent again");
    }

    /** One request for one owner token. */
    private static final class Asked {
        private final ScriptCall call;
        private final String lock;
        private final long begun;
        private long returned = Long.MAX_VALUE;
        private long written = Long.MAX_VALUE;
        /** The step in which it was sent again with the text of its script and written. */
        private long resent = Long.MAX_VALUE;

        private long rewritten;
        private boolean givenUp;
        private int heard;
        private @Nullable String effect;
        private @Nullable Throwable refusal;

        Asked(ScriptCall call, long begun) {
            this.call = call;
            this.lock = call.keys()[0];
            this.begun = begun;
        }
    }

    private static final class Walk {
        private final String where;
        private final Random random;
        private final Set<String> seen;
        private final boolean bySlot;
        private final JointCalls joint;
        private final Deque<RedisCommand<String, String, ?>> wire = new ArrayDeque<>();
        private final Deque<Runnable> replies = new ArrayDeque<>();
        private final Map<String, Asked> all = new HashMap<>();
        private final Map<String, String> holders = new HashMap<>();
        private final Map<String, Long> fences = new HashMap<>();
        private final Set<String> ended = new HashSet<>();
        /** The problems that callbacks find, since an error that a callback throws does not reach the test. */
        private final List<String> problems = new ArrayList<>();

        private long clock;
        private int nested;
        private boolean lost;

        Walk(long seed, Set<String> seen) {
            this.where = "seed " + seed;
            this.random = new Random(seed);
            this.seen = seen;
            this.bySlot = seed % 4 == 0;
            this.joint = new JointCalls(connection(), bySlot, (call, wanted, then) -> alone(call, then));
        }

        void run() {
            int names = random.nextInt(5) == 0 ? 90 : 1 + random.nextInt(6);
            for (int i = 0; i < STEPS; i++) {
                step(names);
            }
            while (!wire.isEmpty() || !replies.isEmpty()) {
                write();
                answer();
            }
            for (Asked asked : all.values()) {
                assertThat(asked.heard)
                        .as("%s: answers to %s", where, asked.call.arguments()[0])
                        .isOne();
            }
            assertThat(problems).as(where).isEmpty();
            all.values().stream()
                    .filter(asked -> asked.written < Long.MAX_VALUE)
                    .collect(Collectors.groupingBy(asked -> asked.lock))
                    .values()
                    .forEach(this::inTheirOrder);
            all.values().stream().filter(asked -> asked.rewritten > 0).forEach(this::notOvertaken);
        }

        /** Checks that a request for a lock that was made after a repeated call for it is written after that call. */
        private void notOvertaken(Asked again) {
            for (Asked asked : all.values()) {
                if (asked.lock.equals(again.lock) && asked.begun > again.resent) {
                    seen.add("behind what was sent again");
                    assertThat(asked.written)
                            .as("%s: what was sent again is overtaken", where)
                            .isGreaterThan(again.rewritten);
                }
            }
        }

        /**
         * Checks the order of calls for one lock: calls that were made before another one started are written before
         * it.
         */
        private void inTheirOrder(List<Asked> calls) {
            List<Asked> byBeginning = new ArrayList<>(calls);
            byBeginning.sort(Comparator.comparingLong(asked -> asked.begun));
            List<Asked> byReturn = new ArrayList<>(calls);
            byReturn.sort(Comparator.comparingLong(asked -> asked.returned));
            int returned = 0;
            long latest = 0;
            for (Asked asked : byBeginning) {
                for (; byReturn.get(returned).returned < asked.begun; returned++) {
                    latest = Math.max(latest, byReturn.get(returned).written);
                }
                assertThat(asked.written)
                        .as("%s: order of %s", where, asked.lock)
                        .isGreaterThan(latest);
            }
        }

        private void step(int names) {
            switch (random.nextInt(8)) {
                case 0, 1, 2, 3 -> ask(names);
                case 4 -> {
                    for (int i = random.nextInt(60); i > 0; i--) {
                        ask(names);
                    }
                }
                case 5 -> write();
                case 6 -> answer();
                default -> giveUp();
            }
            if (!lost && random.nextInt(300) == 0) {
                lose();
            }
        }

        // ---- the requests

        private void ask(int names) {
            String lock = "lock:{" + (bySlot ? random.nextInt(3) : random.nextInt(names)) + "}" + random.nextInt(names);
            String holder = holders.get(lock);
            if (holder != null && random.nextInt(2) == 0) {
                String owner = holder.substring(0, 40);
                String[] arguments = {owner, holder.substring(41)};
                String[] few = {lock, lock + ":queued"};
                ask(new ScriptCall(LuaScript.RELEASE, new String[] {lock, lock + ":fence", lock + ":queued"}, arguments)
                        .orCommonly(new ScriptCall.CommonCase(
                                LuaScript.RELEASE_HELD, LuaScript.RELEASE_MANY, few, new String[] {holder + ":"})));
            } else {
                long candidate = ++clock;
                String[] arguments = {owner() + ":" + candidate, "30000", Long.toString(candidate)};
                ScriptCall call = new ScriptCall(
                        LuaScript.ACQUIRE, new String[] {lock, lock + ":fence", lock + ":queued"}, arguments);
                ask(call.orCommonly(new ScriptCall.CommonCase(
                        LuaScript.ACQUIRE_FREE, LuaScript.ACQUIRE_MANY, call.keys(), arguments)));
            }
        }

        private String owner() {
            return String.format(Locale.ROOT, "%08x", random.nextInt()).repeat(5);
        }

        private void ask(ScriptCall call) {
            String id = id(call.script(), call.arguments()[0].substring(0, 40));
            if (all.containsKey(id)) {
                return;
            }
            Asked asked = new Asked(call, ++clock);
            all.put(id, asked);
            ScriptCall.CommonCase common = call.common();
            assertThat(common).isNotNull();
            joint.run(call, common, () -> !asked.givenUp, (reply, error) -> hear(asked, reply, error));
            asked.returned = ++clock;
        }

        /** Ends the owner token of an attempt whose time is over. */
        private void giveUp() {
            List<Asked> waiting = all.values().stream()
                    .filter(asked -> asked.heard == 0 && !asked.givenUp && asked.call.script() == LuaScript.ACQUIRE)
                    .sorted((one, other) -> Long.compare(one.begun, other.begun))
                    .toList();
            if (waiting.isEmpty()) {
                return;
            }
            Asked asked = waiting.get(random.nextInt(waiting.size()));
            if (asked.returned == Long.MAX_VALUE) {
                return;
            }
            asked.givenUp = true;
            seen.add("given up");
            String value = asked.call.arguments()[0];
            ScriptCall undo = new ScriptCall(
                    LuaScript.RELEASE,
                    new String[] {asked.lock, asked.lock + ":fence", asked.lock + ":queued"},
                    new String[] {value.substring(0, 40), value.substring(41)});
            String id = id(LuaScript.RELEASE, value.substring(0, 40));
            if (!all.containsKey(id)) {
                Asked ending = new Asked(undo, ++clock);
                all.put(id, ending);
                seen.add("undo");
                alone(undo, (reply, error) -> hear(ending, reply, error));
                ending.returned = ++clock;
            }
        }

        private static String id(LuaScript script, String owner) {
            return script + " " + owner;
        }

        private void hear(Asked asked, @Nullable List<Object> reply, @Nullable Throwable error) {
            asked.heard++;
            if (asked.givenUp) {
                return;
            }
            if (reply != null) {
                String told =
                        reply.equals(List.of(1L)) ? "released" : reply.get(0).toString();
                expect(told.equals(asked.effect), "is told of " + told + ", which was " + asked.effect);
                seen.add(told.equals("7") ? "granted" : told);
            } else if (error != null && Failure.unwrapped(error) instanceof RedisCommandExecutionException) {
                expect(asked.refusal != null, "hears the refusal of another call");
            } else {
                expect(lost, "loses an answer though the connection is there: " + error);
            }
        }

        private void expect(boolean holds, String otherwise) {
            if (!holds) {
                problems.add(otherwise);
            }
        }

        // ---- the connection

        @SuppressWarnings("unchecked")
        private StatefulRedisConnection<String, String> connection() {
            return (StatefulRedisConnection<String, String>) Proxy.newProxyInstance(
                    getClass().getClassLoader(),
                    new Class<?>[] {StatefulRedisConnection.class},
                    (proxy, method, given) -> {
                        assertThat(method.getName()).isEqualTo("dispatch");
                        dispatch((RedisCommand<String, String, ?>) given[0]);
                        return given[0];
                    });
        }

        private void dispatch(RedisCommand<String, String, ?> command) {
            if (nested < 3 && random.nextInt(6) == 0) {
                // Another thread is faster.
                nested++;
                for (int i = random.nextInt(6); i > 0; i--) {
                    if (random.nextInt(4) == 0) {
                        giveUp();
                    } else {
                        ask(4);
                    }
                }
                nested--;
            }
            if (lost) {
                command.completeExceptionally(new RedisConnectionException("lost"));
            } else {
                wire.add(command);
                if (command.getType() == CommandType.EVAL) {
                    resent(words(command));
                }
            }
        }

        private void resent(List<String> words) {
            boolean acquires = is(words.get(1), LuaScript.ACQUIRE_FREE) || is(words.get(1), LuaScript.ACQUIRE_MANY);
            for (String argument : words.subList(3 + Integer.parseInt(words.get(2)), words.size())) {
                // The others are a ttl and a token.
                if (argument.length() > 40) {
                    all.get(id(acquires ? LuaScript.ACQUIRE : LuaScript.RELEASE, argument.substring(0, 40))).resent =
                            ++clock;
                }
            }
        }

        private void alone(ScriptCall call, BiConsumer<List<Object>, Throwable> then) {
            Asked asked = all.get(id(call.script(), call.arguments()[0].substring(0, 40)));
            expect(!asked.givenUp, "is sent again though given up");
            expect(!lost || asked.written == Long.MAX_VALUE, "is sent again though its answer may only be lost");
            CommandArgs<String, String> arguments = new CommandArgs<>(StringCodec.UTF8)
                    .add(call.script().sha1())
                    .add(call.keys().length)
                    .addKeys(call.keys())
                    .addValues(call.arguments());
            AsyncCommand<String, String, List<Object>> command = new AsyncCommand<>(
                    new Command<>(CommandType.EVALSHA, new NestedMultiOutput<>(StringCodec.UTF8), arguments));
            dispatch(command);
            joint.haveLeft(call.keys());
            var unused = command.whenComplete(then);
        }

        private void write() {
            for (int i = 1 + random.nextInt(4); i > 0 && !wire.isEmpty(); i--) {
                RedisCommand<String, String, ?> command = wire.remove();
                arrive(command, words(command));
            }
        }

        private static List<String> words(RedisCommand<String, String, ?> command) {
            ByteBuf bytes = Unpooled.buffer();
            command.encode(bytes);
            String resp = bytes.toString(StandardCharsets.UTF_8);
            List<String> words = new ArrayList<>();
            String[] lines = resp.split("\r\n", -1);
            for (int i = 2; i < lines.length; i += 2) {
                words.add(lines[i]);
            }
            return words;
        }

        private void lose() {
            lost = true;
            seen.add("lost");
            List<RedisCommand<String, String, ?>> unwritten = new ArrayList<>(wire);
            wire.clear();
            unwritten.forEach(command -> command.completeExceptionally(new RedisConnectionException("lost")));
            List<Runnable> unanswered = new ArrayList<>(replies);
            replies.clear();
            unanswered.forEach(Runnable::run);
        }

        // ---- the server

        private void arrive(RedisCommand<String, String, ?> command, List<String> words) {
            String script = words.get(1);
            int keys = Integer.parseInt(words.get(2));
            List<String> arguments = words.subList(3 + keys, words.size());
            if (is(script, LuaScript.ACQUIRE) || is(script, LuaScript.RELEASE)) {
                LuaScript one = is(script, LuaScript.ACQUIRE) ? LuaScript.ACQUIRE : LuaScript.RELEASE;
                Asked asked = arrived(one, words.get(3), arguments.get(0));
                if (random.nextInt(20) == 0) {
                    asked.refusal = new RedisCommandExecutionException("OOM");
                    replies.add(() -> finish(command, List.of(), asked.refusal));
                    return;
                }
                String effect = act(asked, one, arguments, false);
                replies.add(() -> finish(command, effect.equals("7") ? List.of("7", "5") : List.of(effect), null));
                return;
            }
            boolean acquires = is(script, LuaScript.ACQUIRE_FREE) || is(script, LuaScript.ACQUIRE_MANY);
            if (is(script, LuaScript.ACQUIRE_FREE) || is(script, LuaScript.RELEASE_HELD)) {
                common(
                        command,
                        acquires ? LuaScript.ACQUIRE : LuaScript.RELEASE,
                        words.get(3),
                        arguments,
                        script.length() == 40);
                return;
            }
            int count = keys / (acquires ? 3 : 2);
            seen.add("joint");
            assertThat(count).as("%s: bound", where).isBetween(2, JointCalls.MAX_CALLS);
            if (count == JointCalls.MAX_CALLS) {
                seen.add("full");
            }
            List<String> locks = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                locks.add(words.get(3 + i * (keys / count)));
            }
            assertThat(locks).as("%s: a lock occurs once", where).doesNotHaveDuplicates();
            if (bySlot) {
                assertThat(locks.stream().map(Slots::of).distinct())
                        .as("%s: of one slot", where)
                        .hasSize(1);
            }
            LuaScript one = acquires ? LuaScript.ACQUIRE : LuaScript.RELEASE;
            int width = arguments.size() / count;
            List<Asked> passengers = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                passengers.add(arrived(one, locks.get(i), arguments.get(i * width)));
            }
            int fate = random.nextInt(10);
            if (fate == 0 && script.length() == 40) {
                seen.add("noscript");
                replies.add(() -> finish(command, List.of(), new RedisNoScriptException("NOSCRIPT")));
            } else if (fate == 1) {
                seen.add("refused");
                replies.add(() -> finish(command, List.of(), new RedisCommandExecutionException("NOPERM")));
            } else {
                List<Object> reply = new ArrayList<>(acquires ? List.of("7", "5") : List.of("released"));
                for (int i = 0; i < count; i++) {
                    boolean declined = random.nextInt(5) == 0;
                    seen.add(declined ? "declined" : "taken in");
                    String effect = declined
                            ? "declined"
                            : act(passengers.get(i), one, arguments.subList(i * width, i * width + width), true);
                    reply.add(effect.equals("7") || effect.equals("released") ? 1L : 0L);
                }
                replies.add(() -> finish(command, reply, null));
            }
        }

        private static boolean is(String sent, LuaScript script) {
            return sent.equals(script.sha1()) || sent.equals(script.text());
        }

        /** The script for the common case of one caller. */
        private void common(
                RedisCommand<String, String, ?> command,
                LuaScript script,
                String lock,
                List<String> arguments,
                boolean byDigest) {
            Asked asked = arrived(script, lock, arguments.get(0));
            int fate = random.nextInt(10);
            if (fate == 0 && byDigest) {
                seen.add("noscript alone");
                replies.add(() -> finish(command, List.of(), new RedisNoScriptException("NOSCRIPT")));
            } else if (fate == 1) {
                asked.refusal = new RedisCommandExecutionException("OOM");
                replies.add(() -> finish(command, List.of(), asked.refusal));
            } else {
                String effect = fate == 2 ? "declined" : act(asked, script, arguments, true);
                boolean done = effect.equals("7") || effect.equals("released");
                seen.add(done ? "done alone" : "declined alone");
                replies.add(
                        () -> finish(command, effect.equals("7") ? List.of("7", "5") : List.of(done ? 1L : 0L), null));
            }
        }

        private Asked arrived(LuaScript script, String lock, String argument) {
            Asked asked = all.get(id(script, argument.substring(0, 40)));
            assertThat(asked.lock).as("%s: the lock that was requested", where).isEqualTo(lock);
            asked.written = Math.min(asked.written, ++clock);
            if (asked.resent < Long.MAX_VALUE && asked.rewritten == 0) {
                asked.rewritten = clock;
            }
            return asked;
        }

        /** The rule of grants and releases; a script for several does only what succeeds. */
        private String act(Asked asked, LuaScript script, List<String> arguments, boolean onlyIfItSucceeds) {
            String lock = asked.lock;
            String effect;
            if (script == LuaScript.ACQUIRE) {
                long candidate = Long.parseLong(arguments.get(2));
                if (candidate <= fences.getOrDefault(lock, 0L)) {
                    effect = "stale";
                } else if (holders.containsKey(lock)) {
                    effect = "held";
                } else {
                    assertThat(ended)
                            .as("%s: granted after its end", where)
                            .doesNotContain(arguments.get(0).substring(0, 40));
                    holders.put(lock, arguments.get(0));
                    fences.put(lock, candidate);
                    effect = "7";
                }
            } else {
                String owner = arguments.get(0).substring(0, 40);
                String ballot =
                        onlyIfItSucceeds ? arguments.get(0).substring(41).replace(":", "") : arguments.get(1);
                boolean ours = holders.getOrDefault(lock, "").startsWith(owner);
                if (!ours && onlyIfItSucceeds) {
                    return "not-ours";
                }
                ended.add(owner);
                fences.merge(lock, Long.parseLong(ballot), Math::max);
                if (ours) {
                    holders.remove(lock);
                }
                effect = ours ? "released" : "not-ours";
            }
            asked.effect = effect;
            return effect;
        }

        private void answer() {
            for (int i = 1 + random.nextInt(3); i > 0 && !replies.isEmpty(); i--) {
                replies.remove().run();
            }
        }

        private void finish(RedisCommand<String, String, ?> command, List<?> reply, @Nullable Throwable error) {
            if (lost) {
                command.completeExceptionally(new RedisConnectionException("lost"));
            } else if (error == null && reply.size() == 1 && reply.get(0) instanceof Long number) {
                command.getOutput().set(number);
                command.complete();
            } else if (error != null) {
                command.completeExceptionally(error);
            } else {
                command.getOutput().multi(reply.size());
                for (Object item : reply) {
                    if (item instanceof Long number) {
                        command.getOutput().set(number);
                    } else {
                        command.getOutput().set(ByteBuffer.wrap(item.toString().getBytes(StandardCharsets.UTF_8)));
                    }
                    command.getOutput().complete(1);
                }
                command.getOutput().complete(0);
                command.complete();
            }
        }
    }
}
