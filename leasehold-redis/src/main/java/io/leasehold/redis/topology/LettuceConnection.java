package io.leasehold.redis.topology;

import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.NotSentException;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.toolkit.Failure;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.protocol.ProtocolKeyword;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import java.util.function.BiPredicate;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A Lettuce connection. */
final class LettuceConnection implements RedisConnection {

    private static final Map<String, CommandName> NAMES = new ConcurrentHashMap<>();

    private final StatefulConnection<String, String> connection;
    private final Consumer<StatefulConnection<?, ?>> end;
    private final BiPredicate<InetSocketAddress, InetSocketAddress> ends;

    /** Creates a connection whose ends are not known. */
    LettuceConnection(StatefulConnection<String, String> connection, Consumer<StatefulConnection<?, ?>> end) {
        this(connection, end, (local, remote) -> false);
    }

    LettuceConnection(
            StatefulConnection<String, String> connection,
            Consumer<StatefulConnection<?, ?>> end,
            BiPredicate<InetSocketAddress, InetSocketAddress> ends) {
        this.connection = connection;
        this.end = end;
        this.ends = ends;
    }

    /** The name of a command, which the library need not know. */
    @SuppressWarnings("ArrayRecordComponent") // compared by none
    private record CommandName(String word, byte[] bytes) implements ProtocolKeyword {
        CommandName(String word) {
            this(word, word.getBytes(StandardCharsets.US_ASCII));
        }

        @Override
        public byte[] getBytes() {
            return bytes;
        }

        @Override
        public String toString() {
            return word;
        }
    }

    /** The command that runs a script, by its digest or its text. */
    static Command<String, String, List<Object>> script(
            LuaScript script, boolean byText, String[] keys, String[] arguments) {
        return new Command<>(
                byText ? CommandType.EVAL : CommandType.EVALSHA,
                new NestedMultiOutput<>(StringCodec.UTF8),
                new CommandArgs<>(StringCodec.UTF8)
                        .add(byText ? script.text() : script.sha1())
                        .add(keys.length)
                        .addKeys(keys)
                        .addValues(arguments));
    }

    @Override
    public void run(
            ScriptCall call,
            boolean byText,
            boolean asking,
            BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
        dispatch(script(call.script(), byText, call.keys(), call.arguments()), asking, then);
    }

    @Override
    public void send(
            PlainCommand<?> command, boolean asking, BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
        String[] arguments = command.arguments();
        dispatch(
                new Command<>(
                        NAMES.computeIfAbsent(command.name(), CommandName::new),
                        new NestedMultiOutput<>(StringCodec.UTF8),
                        arguments.length == 0 ? null : new CommandArgs<>(StringCodec.UTF8).addValues(arguments)),
                asking,
                then);
    }

    private void dispatch(
            Command<String, String, List<Object>> command,
            boolean asking,
            BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
        AsyncCommand<String, String, List<Object>> sent = new AsyncCommand<>(command);
        if (asking) {
            // ASKING applies to the next command only.
            AsyncCommand<String, String, String> first =
                    new AsyncCommand<>(new Command<>(CommandType.ASKING, new StatusOutput<>(StringCodec.UTF8)));
            connection.dispatch(List.of(first, sent));
        } else {
            connection.dispatch(sent);
        }
        sent.whenComplete(then);
    }

    @Override
    public @Nullable Throwable plain(@Nullable Throwable thrown) {
        return meaning(thrown);
    }

    static @Nullable Throwable meaning(@Nullable Throwable thrown) {
        if (thrown == null) {
            return null;
        }
        Throwable cause = Failure.unwrapped(thrown);
        if (cause instanceof RedisCommandExecutionException) {
            return new ServerRefusal(cause.getMessage(), cause);
        }
        String text = String.valueOf(cause.getMessage());
        return text.startsWith("Currently not connected") || text.startsWith("Connection is closed")
                ? new NotSentException(text, cause)
                : cause;
    }

    /** Converts the failure of a connection attempt: the refusal of a login is below other exceptions. */
    static Throwable meaningOfNoConnection(Throwable thrown) {
        for (Throwable t = thrown; t != null; t = t.getCause()) {
            if (t instanceof RedisCommandExecutionException) {
                return new ServerRefusal(t.getMessage(), thrown);
            }
        }
        return Failure.unwrapped(thrown);
    }

    @Override
    public Joint joint(boolean bySlot, Alone alone) {
        return new JointCalls(forScripts(), bySlot, alone);
    }

    @Override
    public Acknowledging acknowledging(Acknowledgement wanted) {
        return new GroupCommit(forScripts(), end, wanted);
    }

    private StatefulRedisConnection<String, String> forScripts() {
        return (StatefulRedisConnection<String, String>) connection;
    }

    @Override
    public boolean hasEnds(InetSocketAddress local, InetSocketAddress remote) {
        return ends.test(local, remote);
    }

    @Override
    public boolean isOpen() {
        return connection.isOpen();
    }

    @Override
    public void close() {
        end.accept(connection);
    }

    @Override
    public void onEnd(Runnable listener) {
        connection.addListener(onDisconnect(listener));
    }

    static RedisConnectionStateListener onDisconnect(Runnable listener) {
        return new RedisConnectionStateListener() {
            @Override
            public void onRedisDisconnected(RedisChannelHandler<?, ?> ended) {
                listener.run();
            }
        };
    }
}
