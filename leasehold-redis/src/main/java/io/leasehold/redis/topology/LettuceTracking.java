package io.leasehold.redis.topology;

import io.leasehold.redis.wire.PlainCommand;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.push.PushMessage;
import io.lettuce.core.codec.StringCodec;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A Lettuce connection that uses RESP3, so that answers and notifications arrive on the same connection. */
final class LettuceTracking implements TrackingConnection {

    private final StatefulRedisConnection<String, String> connection;
    private final LettuceConnection commands;

    LettuceTracking(StatefulRedisConnection<String, String> connection, Consumer<StatefulConnection<?, ?>> end) {
        this.connection = connection;
        this.commands = new LettuceConnection(connection, end);
    }

    @Override
    public CompletableFuture<Void> track(Consumer<@Nullable String> onChange) {
        connection.addListener((PushMessage push) -> {
            if (push.getType().equals("invalidate")) {
                tell(push.getContent(StringCodec.UTF8::decodeValue), onChange);
            }
        });
        return commands.ask(PlainCommand.TRACK).thenApply(on -> null);
    }

    /** Reports the keys of a message: after its type, a message has the list of keys, or a null in its place. */
    private static void tell(List<Object> content, Consumer<@Nullable String> onChange) {
        if (content.size() > 1 && content.get(1) instanceof List<?> keys) {
            for (Object key : keys) {
                onChange.accept(key instanceof ByteBuffer bytes ? StringCodec.UTF8.decodeKey(bytes) : (String) key);
            }
        } else {
            onChange.accept(null);
        }
    }

    @Override
    public CompletableFuture<List<@Nullable String>> values(List<String> keys) {
        return commands.ask(PlainCommand.mget(keys.toArray(String[]::new)));
    }

    @Override
    public CompletableFuture<Void> ping() {
        return commands.ask(PlainCommand.PING).thenApply(pong -> null);
    }

    @Override
    public boolean isOpen() {
        return commands.isOpen();
    }

    @Override
    public void close() {
        commands.close();
    }

    @Override
    public void onEnd(Runnable listener) {
        commands.onEnd(listener);
    }
}
