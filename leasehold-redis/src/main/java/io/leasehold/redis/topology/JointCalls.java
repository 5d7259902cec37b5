package io.leasehold.redis.topology;

import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.spi.toolkit.Failure;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandType;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends several script calls as one script: all calls that are present when the driver writes the first of them.
 *
 * <p>No call waits for others. The first call hands a command to the driver at once. The connection's I/O thread
 * requests the bytes of that command when it reaches it, and only then is the content fixed. Thus a single caller sends
 * the same bytes as without this class, and the busier the I/O thread is, the more calls share a script.
 *
 * <p>A call that is sent without others is also reduced to its common case, with only the keys and arguments of that
 * case; one script may serve one call and several. If the lock was recently in another case ({@link UnusualLocks}),
 * the call is sent whole.
 *
 * <p>Each call gets its own answer. The joint script answers 0 for a call that it did not execute; that call then runs
 * alone. If the server refuses a joint script, all its calls run alone. A call that was given up meanwhile does not
 * run, since its undo may have been sent before. If the connection ends, every call of the script fails.
 *
 * <p>Calls for one lock reach the server in the order in which they were made. A call joins a script only if that
 * script already has its place on the connection and no later call for the same lock was sent since. State is guarded
 * by {@code this}.
 */
final class JointCalls implements RedisConnection.Joint {

    /**
     * The maximum number of calls in a script. At some 4 µs for each, no script occupies the server for longer than a
     * sixth of a millisecond.
     */
    static final int MAX_CALLS = 32;

    /** The answer of a script for one caller that executed nothing. */
    private static final List<Object> DECLINED = List.of(0L);

    private static final Logger LOG = LoggerFactory.getLogger(JointCalls.class);

    private final StatefulRedisConnection<String, String> connection;
    private final RedisConnection.Alone alone;
    private final boolean bySlot;
    private final UnusualLocks unusual = new UnusualLocks();
    private final Map<LuaScript, Batch> open = new HashMap<>();
    /** The batches whose bytes are not made yet, including those that are not open yet. */
    private final List<Batch> unwritten = new ArrayList<>();

    /**
     * Creates the joint calls of one connection.
     *
     * @param bySlot whether only calls of the same slot may join, since the server is part of a Cluster
     */
    JointCalls(StatefulRedisConnection<String, String> connection, boolean bySlot, RedisConnection.Alone alone) {
        this.connection = connection;
        this.bySlot = bySlot;
        this.alone = alone;
    }

    /** A call that waits for its answer. */
    private final class WaitingCall {
        private final ScriptCall call;
        private final ScriptCall.CommonCase common;
        private final BooleanSupplier wanted;
        private final BiConsumer<@Nullable List<Object>, @Nullable Throwable> then;

        WaitingCall(
                ScriptCall call,
                ScriptCall.CommonCase common,
                BooleanSupplier wanted,
                BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
            this.call = call;
            this.common = common;
            this.wanted = wanted;
            this.then = then;
        }

        String lock() {
            return call.first();
        }

        /** Whether the call may be sent again after an answer of the server; if not, this method has failed it. */
        boolean isWanted() {
            boolean still = wanted.getAsBoolean();
            if (!still) {
                hear(null, RedisConnection.givenUp());
            }
            return still;
        }

        void runAlone() {
            if (!isWanted()) {
                return;
            }
            try {
                alone.run(call, wanted, (reply, error) -> {
                    unusual.heed(lock(), reply);
                    hear(reply, error);
                });
            } catch (RuntimeException | Error e) {
                hear(null, e);
            }
        }

        void hear(@Nullable List<Object> reply, @Nullable Throwable error) {
            try {
                then.accept(reply, error);
            } catch (RuntimeException | Error e) {
                // The other calls still need their answers.
                LOG.error("an answer of {} could not be taken in", call.script(), e);
            }
        }
    }

    @Override
    public void run(
            ScriptCall call,
            ScriptCall.CommonCase common,
            BooleanSupplier wanted,
            BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
        WaitingCall waiting = new WaitingCall(call, common, wanted, then);
        int slot = bySlot ? Slots.of(waiting.lock()) : 0;
        Batch batch;
        synchronized (this) {
            Batch present = open.get(common.several());
            if (present != null && present.admits(waiting, slot)) {
                overtaking(present, waiting.lock());
                return;
            }
            batch = new Batch(common.several(), waiting, slot);
            unwritten.add(batch);
        }
        batch.leave();
        synchronized (this) {
            // Do not open the batch earlier: until now a call that is sent later could get an earlier place on the
            // connection.
            if (!batch.left) {
                open.put(common.several(), batch);
            }
            overtaking(batch, waiting.lock());
        }
    }

    @Override
    public synchronized void haveLeft(String... keys) {
        for (String key : keys) {
            overtaking(null, key);
        }
    }

    /**
     * Keeps later calls for this lock out of the other scripts, which may precede it on the connection. The caller
     * holds the monitor.
     */
    private void overtaking(@Nullable Batch with, String lock) {
        for (Batch other : unwritten) {
            if (other != with) {
                other.overtakenBy(lock);
            }
        }
    }

    /** A command whose bytes are made when they are written. */
    private final class Batch extends Command<String, String, List<Object>> {

        private final LuaScript together;
        private final int slot;
        /** Its calls; nearly always one, so that a list that grows is made for the second. */
        private List<WaitingCall> calls;
        /** The locks of calls that were sent after this batch was made. */
        private Set<String> overtaken = Set.of();

        private boolean left;
        /** Whether its one call is sent whole. Set when the bytes are made, before any answer. */
        private volatile boolean whole;

        Batch(LuaScript together, WaitingCall first, int slot) {
            super(CommandType.EVALSHA, new NestedMultiOutput<>(StringCodec.UTF8), null);
            this.together = together;
            this.slot = slot;
            this.calls = List.of(first);
        }

        /**
         * Adds the call if this batch may take it, and returns whether it did; a batch contains a lock at most once.
         * The caller holds the monitor.
         */
        boolean admits(WaitingCall waiting, int itsSlot) {
            String lock = waiting.lock();
            if (slot != itsSlot || calls.size() >= MAX_CALLS || overtaken.contains(lock)) {
                return false;
            }
            if (!waiting.common.head().isLike(calls.get(0).common.head())) {
                return false;
            }
            for (WaitingCall present : calls) {
                if (present.lock().equals(lock)) {
                    return false;
                }
            }
            if (calls.size() == 1) {
                calls = new ArrayList<>(calls);
            }
            calls.add(waiting);
            return true;
        }

        /** Notes a call that was sent after this batch was made. The caller holds the monitor. */
        void overtakenBy(String lock) {
            if (overtaken.isEmpty()) {
                overtaken = new HashSet<>();
            }
            overtaken.add(lock);
        }

        void leave() {
            send(this, this::arrived);
        }

        private void send(
                Command<String, String, List<Object>> what,
                BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
            AsyncCommand<String, String, List<Object>> command = new AsyncCommand<>(what);
            command.whenComplete(then);
            try {
                connection.dispatch(command);
            } catch (RuntimeException | Error e) {
                command.completeExceptionally(e);
            }
        }

        /** Closes the batch to further calls and returns its calls. */
        private List<WaitingCall> closed() {
            synchronized (JointCalls.this) {
                if (!left) {
                    left = true;
                    open.remove(together, this);
                    unwritten.remove(this);
                }
                return calls;
            }
        }

        @Override
        public void encode(ByteBuf buffer) {
            List<WaitingCall> all = closed();
            whole = all.size() == 1 && unusual.isKnown(all.get(0).lock());
            WaitingCall first = all.get(0);
            ScriptCall.CommonCase common = first.common;
            if (whole) {
                write(buffer, first.call.script(), first.call.keys(), first.call.arguments());
            } else if (isShort(all)) {
                write(buffer, common.one(), common.keys(), common.arguments());
            } else {
                ScriptCall.Head head = common.head();
                LettuceScripts.begin(
                        buffer,
                        together,
                        head.keys().length + all.size() * common.keys().length,
                        head.arguments().length + all.size() * common.arguments().length);
                LettuceScripts.add(buffer, head.keys());
                for (WaitingCall each : all) {
                    LettuceScripts.add(buffer, each.common.keys());
                }
                LettuceScripts.add(buffer, head.arguments());
                for (WaitingCall each : all) {
                    LettuceScripts.add(buffer, each.common.arguments());
                }
            }
        }

        private void write(ByteBuf buffer, LuaScript script, String[] keys, String[] arguments) {
            LettuceScripts.begin(buffer, script, keys.length, arguments.length);
            LettuceScripts.add(buffer, keys);
            LettuceScripts.add(buffer, arguments);
        }

        /** Whether this is a single call, whose script for one caller differs from that for several. */
        private boolean isShort(List<WaitingCall> all) {
            return all.size() == 1 && !all.get(0).common.isOneScript();
        }

        /** The command for these calls of a closed batch, in their common case, by the text of its script. */
        private Command<String, String, List<Object>> byText(List<WaitingCall> all) {
            ScriptCall.CommonCase common = all.get(0).common;
            if (isShort(all)) {
                return LettuceConnection.script(common.one(), true, common.keys(), common.arguments());
            }
            return LettuceConnection.script(
                    together,
                    true,
                    joined(common.head().keys(), all, ScriptCall.CommonCase::keys),
                    joined(common.head().arguments(), all, ScriptCall.CommonCase::arguments));
        }

        private String[] joined(String[] head, List<WaitingCall> all, Function<ScriptCall.CommonCase, String[]> part) {
            int each = part.apply(all.get(0).common).length;
            String[] joined = Arrays.copyOf(head, head.length + all.size() * each);
            for (int i = 0; i < all.size(); i++) {
                System.arraycopy(part.apply(all.get(i).common), 0, joined, head.length + i * each, each);
            }
            return joined;
        }

        private void arrived(@Nullable List<Object> reply, @Nullable Throwable error) {
            List<WaitingCall> all = closed();
            boolean unknown = error != null && Failure.unwrapped(error) instanceof RedisNoScriptException;
            if (!unknown) {
                take(all, reply, error);
            } else if (whole) {
                all.get(0).runAlone();
            } else {
                // The server has refused the digest, so nothing has run yet.
                List<WaitingCall> still =
                        all.stream().filter(WaitingCall::isWanted).toList();
                if (!still.isEmpty()) {
                    send(byText(still), (second, secondError) -> take(still, second, secondError));
                    still.forEach(waiting -> haveLeft(waiting.lock()));
                }
            }
        }

        private void take(List<WaitingCall> all, @Nullable List<Object> reply, @Nullable Throwable error) {
            WaitingCall only = all.get(0);
            if (!whole && !isShort(all)) {
                spread(all, reply, error);
            } else if (whole) {
                unusual.heed(only.lock(), reply);
                only.hear(reply, error);
            } else if (DECLINED.equals(reply)) {
                unusual.add(only.lock());
                only.runAlone();
            } else {
                only.hear(reply, error);
            }
        }

        private void spread(List<WaitingCall> all, @Nullable List<Object> reply, @Nullable Throwable error) {
            if (reply != null) {
                int head = reply.size() - all.size();
                for (int i = 0; i < all.size(); i++) {
                    WaitingCall one = all.get(i);
                    Object its = head > 0 ? reply.get(head + i) : Long.valueOf(0);
                    if (one.common.isDecidedBy(its)) {
                        one.hear(answer(reply.subList(0, head), its), null);
                    } else {
                        unusual.add(one.lock());
                        one.runAlone();
                    }
                }
            } else if (all.size() > 1
                    && error != null
                    && Failure.unwrapped(error) instanceof RedisCommandExecutionException) {
                // The server has refused the whole script, perhaps because of one call.
                all.forEach(WaitingCall::runAlone);
            } else {
                all.forEach(waiting -> waiting.hear(null, error));
            }
        }

        /** The common beginning of a joint answer, followed by the answer for one call if that is more than a 1. */
        private List<Object> answer(List<Object> beginning, Object its) {
            if (its instanceof Long) {
                return beginning;
            }
            List<Object> all = new ArrayList<>(beginning);
            all.add(its);
            return all;
        }
    }
}
