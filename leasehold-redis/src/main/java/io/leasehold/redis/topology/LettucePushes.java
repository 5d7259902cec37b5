package io.leasehold.redis.topology;

import io.leasehold.spi.toolkit.Failure;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** A Lettuce connection for subscriptions. */
final class LettucePushes implements PushConnection {

    private final StatefulRedisPubSubConnection<String, String> connection;
    private final Consumer<StatefulConnection<?, ?>> end;

    LettucePushes(StatefulRedisPubSubConnection<String, String> connection, Consumer<StatefulConnection<?, ?>> end) {
        this.connection = connection;
        this.end = end;
    }

    @Override
    public void listen(Listener listener) {
        connection.addListener(new RedisPubSubAdapter<String, String>() {
            @Override
            public void message(String from, String message) {
                listener.message(message);
            }

            @Override
            public void smessage(String from, String message) {
                listener.message(message);
            }

            @Override
            public void sunsubscribed(String channel, long count) {
                listener.unsubscribed(channel);
            }
        });
    }

    @Override
    public CompletableFuture<String> serverInfo() {
        return connection.async().info("server").toCompletableFuture();
    }

    @Override
    public CompletableFuture<Void> subscribe(String channel) {
        return plainly(connection.async().subscribe(channel));
    }

    @Override
    public CompletableFuture<Void> subscribeSharded(String channel) {
        return plainly(connection.async().ssubscribe(channel));
    }

    /** Ends each subscription separately, since a node of a Cluster refuses a command with the channels of several slots. */
    @Override
    public void unsubscribeSharded(List<String> channels) {
        channels.forEach(channel -> connection.async().sunsubscribe(channel));
    }

    @Override
    public CompletableFuture<Void> ping() {
        return plainly(connection.async().ping());
    }

    private static CompletableFuture<Void> plainly(RedisFuture<?> sent) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        sent.whenComplete((reply, error) -> {
            if (error == null) {
                done.complete(null);
            } else {
                done.completeExceptionally(Objects.requireNonNull(LettuceConnection.meaning(Failure.unwrapped(error))));
            }
        });
        return done;
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
        connection.addListener(LettuceConnection.onDisconnect(listener));
    }
}
