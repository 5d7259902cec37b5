package io.leasehold.redis.topology;

import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.spi.toolkit.Failure;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.IntegerOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.protocol.RedisCommand;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Runs scripts that replicas must acknowledge. It uses a separate connection, since {@code WAIT} blocks all later
 * commands on its connection.
 *
 * <p>A script and its {@code WAIT} are sent together. During a {@code WAIT}, later scripts gather; then they are sent
 * with one {@code WAIT} for all of them, since it covers all earlier writes. State is guarded by {@code this}.
 */
final class GroupCommit implements RedisConnection.Acknowledging {

    private final StatefulRedisConnection<String, String> connection;
    private final Consumer<StatefulConnection<?, ?>> end;
    private final Acknowledgement wanted;
    private List<Call> gathered = new ArrayList<>();
    private boolean waiting;

    GroupCommit(
            StatefulRedisConnection<String, String> connection,
            Consumer<StatefulConnection<?, ?>> end,
            Acknowledgement wanted) {
        this.connection = connection;
        this.end = end;
        this.wanted = wanted;
    }

    /** One script and the callback for its answer. */
    private record Call(
            ScriptCall script,
            boolean byText,
            BooleanSupplier wanted,
            BiConsumer<@Nullable Acknowledged, @Nullable Throwable> then) {

        AsyncCommand<String, String, List<Object>> command() {
            return new AsyncCommand<>(
                    LettuceConnection.script(script.script(), byText, script.keys(), script.arguments()));
        }
    }

    @Override
    public void run(
            ScriptCall script,
            BooleanSupplier stillWanted,
            BiConsumer<@Nullable Acknowledged, @Nullable Throwable> then) {
        Call call = new Call(script, false, stillWanted, then);
        synchronized (this) {
            if (waiting) {
                gathered.add(call);
                return;
            }
            waiting = true;
        }
        send(List.of(call));
    }

    private void send(List<Call> calls) {
        List<AsyncCommand<String, String, List<Object>>> scripts =
                calls.stream().map(Call::command).toList();
        AsyncCommand<String, String, Long> wait = new AsyncCommand<>(new Command<>(
                CommandType.WAIT,
                new IntegerOutput<>(StringCodec.UTF8),
                new CommandArgs<>(StringCodec.UTF8).add(wanted.replicas()).add(wanted.timeoutMillis())));
        List<RedisCommand<String, String, ?>> all = new ArrayList<>(scripts);
        all.add(wait);
        wait.whenComplete((count, error) -> {
            long acknowledged = count == null ? 0 : count;
            List<Call> again = new ArrayList<>();
            for (int i = 0; i < calls.size(); i++) {
                settle(calls.get(i), scripts.get(i), acknowledged, again);
            }
            next(again);
        });
        try {
            connection.dispatch(all);
        } catch (RuntimeException | Error e) {
            // Without this, the scripts that gather behind it would wait forever.
            scripts.forEach(script -> script.completeExceptionally(e));
            wait.completeExceptionally(e);
        }
    }

    private static void settle(
            Call call, AsyncCommand<String, String, List<Object>> script, long acknowledged, List<Call> again) {
        script.whenComplete((reply, error) -> {
            if (error != null && Failure.unwrapped(error) instanceof RedisNoScriptException) {
                // The server has refused the digest, so nothing has run yet.
                again.add(new Call(call.script, true, call.wanted, call.then));
            } else {
                call.then.accept(reply == null ? null : new Acknowledged(reply, acknowledged), error);
            }
        });
    }

    private void next(List<Call> again) {
        List<Call> batch = new ArrayList<>();
        List<Call> givenUp = new ArrayList<>();
        synchronized (this) {
            again.addAll(gathered);
            gathered = new ArrayList<>();
            // Do not send calls that were given up meanwhile: their undo may have been sent before.
            again.forEach(call -> (call.wanted.getAsBoolean() ? batch : givenUp).add(call));
            waiting = !batch.isEmpty();
        }
        if (!batch.isEmpty()) {
            send(batch);
        }
        givenUp.forEach(call -> call.then.accept(null, RedisConnection.givenUp()));
    }

    @Override
    public void close() {
        end.accept(connection);
    }
}
