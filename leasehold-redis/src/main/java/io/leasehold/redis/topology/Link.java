package io.leasehold.redis.topology;

import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.Failure;
import io.lettuce.core.RedisAsyncCommandsImpl;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.protocol.RedisCommand;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One life of one connection to one life of one server.
 *
 * <p>It never reconnects: what was in flight when it ends fails, and is never sent again. {@link Connections} makes
 * the next one. Safe for all threads; callbacks run on the connection's I/O thread.
 */
public final class Link {

    /** An unanswered connection is given up after this: its peer may be gone without a word. */
    private static final long SILENCE_NANOS = 3_000_000_000L;

    private final StatefulRedisConnection<String, String> connection;
    private final Driver driver;
    private final boolean asking;
    private final @Nullable GroupCommit acknowledged;
    private final @Nullable JointCalls joint;
    private final RedisUri address;
    private final ServerFacts facts;
    private final Silence silence;
    /** Of the second connection, which waits for replicas: what is heard on one of them says nothing of the other. */
    private final Silence acknowledging;

    Link(
            StatefulRedisConnection<String, String> connection,
            @Nullable GroupCommit acknowledged,
            Driver driver,
            RedisUri address,
            ServerFacts facts,
            LockRuntime runtime) {
        this.acknowledged = acknowledged;
        this.connection = connection;
        this.driver = driver;
        this.asking = false;
        this.joint = new JointCalls(connection, facts.mode().equals("cluster"), this::runAlone);
        this.address = address;
        this.facts = facts;
        this.silence = new Silence(runtime);
        this.acknowledging = new Silence(runtime);
    }

    private Link(Link link) {
        this.acknowledged = link.acknowledged;
        this.connection = link.connection;
        this.driver = link.driver;
        this.asking = true;
        this.joint = null;
        this.address = link.address;
        this.facts = link.facts;
        this.silence = link.silence;
        this.acknowledging = link.acknowledging;
    }

    /** The same link for what a server is asked that has its slot only in part: that we know this leaves before each request. */
    public Link asking() {
        return new Link(this);
    }

    private RedisAsyncCommands<String, String> redis() {
        return asking ? new Asking(connection) : connection.async();
    }

    /** The commands of the driver, each of which leaves together with an {@code ASKING}, which counts for the next one only. */
    private static final class Asking extends RedisAsyncCommandsImpl<String, String> {
        private final StatefulRedisConnection<String, String> connection;

        Asking(StatefulRedisConnection<String, String> connection) {
            super(connection, StringCodec.UTF8);
            this.connection = connection;
        }

        @Override
        public <T> AsyncCommand<String, String, T> dispatch(RedisCommand<String, String, T> command) {
            AsyncCommand<String, String, String> asking =
                    new AsyncCommand<>(new Command<>(CommandType.ASKING, new StatusOutput<>(StringCodec.UTF8)));
            AsyncCommand<String, String, T> asked = new AsyncCommand<>(command);
            connection.dispatch(List.of(asking, asked));
            return asked;
        }
    }

    /** The life of the server's memory behind this link. */
    public Incarnation incarnation() {
        return facts.incarnation();
    }

    /** Where the server is. */
    RedisUri address() {
        return address;
    }

    /** What the server told of itself when the link was made. */
    ServerFacts facts() {
        return facts;
    }

    /**
     * Runs a script, by its digest; a server that does not know it yet gets its text. It may leave together with other calls.
     *
     * @param wanted whether the answer still matters: what did not get one together with others is sent alone only then
     * @param then takes the answer or the exception, exactly one of them not null
     */
    public void run(
            ScriptCall call, BooleanSupplier wanted, BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
        ScriptCall.CommonCase common = call.common();
        if (joint == null || common == null) {
            runAlone(call, then);
        } else {
            silence.asked();
            joint.run(call, common, wanted, (reply, error) -> {
                // What was given up was answered before.
                silence.heard(error instanceof CancellationException ? null : error);
                then.accept(reply, error);
            });
        }
    }

    private void runAlone(ScriptCall call, BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
        LuaScript script = call.script();
        String[] keys = call.keys();
        String[] arguments = call.arguments();
        RedisAsyncCommands<String, String> redis = redis();
        silence.asked();
        CompletionStage<List<Object>> sent = redis.evalsha(script.sha1(), ScriptOutputType.MULTI, keys, arguments);
        if (joint != null) {
            joint.haveLeft(keys);
        }
        sent.whenComplete((reply, error) -> {
            silence.heard(error);
            if (error != null && Failure.unwrapped(error) instanceof RedisNoScriptException) {
                // The server has refused the digest, so nothing has run yet.
                redis.<List<Object>>eval(script.text(), ScriptOutputType.MULTI, keys, arguments)
                        .whenComplete((second, secondError) -> {
                            silence.heard(secondError);
                            then.accept(second, secondError);
                        });
            } else {
                then.accept(reply, error);
            }
        });
    }

    /** Runs a script and waits for replicas; only on a link that was made for it. */
    public void runAcknowledged(
            LuaScript script,
            String[] keys,
            String[] arguments,
            BiConsumer<@Nullable Acknowledged, @Nullable Throwable> then) {
        GroupCommit commit = acknowledged;
        if (commit == null) {
            then.accept(null, new IllegalStateException("this link does not wait for replicas"));
            return;
        }
        acknowledging.asked();
        commit.run(script, keys, arguments, (reply, error) -> {
            acknowledging.heard(error);
            then.accept(reply, error);
        });
    }

    /** Sends another command. */
    public <T> void send(
            Function<RedisAsyncCommands<String, String>, ? extends CompletionStage<T>> command,
            BiConsumer<@Nullable T, @Nullable Throwable> then) {
        silence.asked();
        command.apply(redis()).whenComplete((reply, error) -> {
            silence.heard(error);
            then.accept(reply, error);
        });
    }

    /** Since when nothing has been heard on a connection that was asked something. */
    private static final class Silence {
        private final LockRuntime runtime;
        private volatile boolean lasts;
        private volatile long sinceNanos;

        Silence(LockRuntime runtime) {
            this.runtime = runtime;
        }

        void asked() {
            if (!lasts) {
                sinceNanos = runtime.nanoTime();
                lasts = true;
            }
        }

        void heard(@Nullable Throwable error) {
            if (error == null || Failure.unwrapped(error) instanceof RedisCommandExecutionException) {
                lasts = false;
            }
        }

        boolean isAtLeast(long nanos) {
            return lasts && runtime.nanoTime() - sinceNanos >= nanos;
        }
    }

    /**
     * A request was not answered in time. If nothing at all has been heard for long on one of the connections, both are ended, so
     * that others can be made. A race between answers here costs at most one more time limit.
     */
    public void unanswered() {
        // A request may wait for the WAIT before it, and then for its own.
        long waits = 2 * TimeUnit.MILLISECONDS.toNanos(address.acknowledgement().timeoutMillis());
        if (silence.isAtLeast(SILENCE_NANOS) || acknowledging.isAtLeast(SILENCE_NANOS + waits)) {
            close();
        }
    }

    boolean isOpen() {
        return connection.isOpen();
    }

    void close() {
        driver.end(connection);
        if (acknowledged != null) {
            acknowledged.close();
        }
    }
}
