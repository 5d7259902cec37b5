package io.leasehold.redis.topology;

import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.RedisException;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.pubsub.RedisPubSubListener;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.pubsub.api.async.RedisPubSubAsyncCommands;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A connection that belongs to somebody else, as one that we may use: it is never closed, its flush mode never changed.
 * Closing what is seen of it takes back our listeners and subscriptions, and nothing more.
 *
 * <p>What we send is flushed at once, whatever its flush mode: a lock cannot wait for the end of somebody's pipeline. So
 * commands that its owner holds back go out with ours.
 *
 * <p>The interfaces of a connection have hundreds of methods, which differ between versions of the driver; so they are
 * implemented by reflection. Safe for all threads.
 *
 * @param <C> the kind of connection
 */
final class Borrowed<C extends StatefulConnection<String, String>> {

    private final C connection;
    private final Class<C> type;
    private final Class<?> commands;
    private @Nullable View view;

    private Borrowed(C connection, Class<C> type, Class<?> commands) {
        this.connection = connection;
        this.type = type;
        this.commands = commands;
    }

    @SuppressWarnings("unchecked") // the class object of a generic type
    static Borrowed<StatefulRedisConnection<String, String>> forCommands(
            StatefulRedisConnection<String, String> connection) {
        return new Borrowed<>(
                connection,
                (Class<StatefulRedisConnection<String, String>>) (Class<?>) StatefulRedisConnection.class,
                RedisAsyncCommands.class);
    }

    @SuppressWarnings("unchecked") // the class object of a generic type
    static Borrowed<StatefulRedisPubSubConnection<String, String>> forPushes(
            StatefulRedisPubSubConnection<String, String> connection) {
        return new Borrowed<>(
                connection,
                (Class<StatefulRedisPubSubConnection<String, String>>) (Class<?>) StatefulRedisPubSubConnection.class,
                RedisPubSubAsyncCommands.class);
    }

    /** The connection as it may be used until it is closed, or until the next call; fails while it is not connected. */
    synchronized CompletableFuture<C> lend() {
        giveBack();
        if (!connection.isOpen()) {
            return CompletableFuture.failedFuture(
                    new RedisException("the connection that was brought along is not connected"));
        }
        View lent = new View();
        view = lent;
        return CompletableFuture.completedFuture(
                type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, lent::connection)));
    }

    /** Takes back what was lent. */
    synchronized void giveBack() {
        View lent = view;
        view = null;
        if (lent != null) {
            lent.end();
        }
    }

    /** One use of the connection; its state is guarded by {@code this}. */
    private final class View {

        private final List<Runnable> undoing = new ArrayList<>();
        private boolean ended;

        private @Nullable Object connection(Object proxy, Method method, @Nullable Object @Nullable [] arguments)
                throws Throwable {
            switch (method.getName()) {
                case "equals" -> {
                    return arguments != null && proxy == arguments[0];
                }
                case "hashCode" -> {
                    return System.identityHashCode(proxy);
                }
                case "close" -> {
                    end();
                    return null;
                }
                case "closeAsync" -> {
                    end();
                    return CompletableFuture.completedFuture(null);
                }
                case "setAutoFlushCommands", "setTimeout" ->
                    throw new UnsupportedOperationException(method.getName() + " of a borrowed connection");
                case "isOpen" -> {
                    return !isEnded() && connection.isOpen();
                }
                case "async" -> {
                    Object real = Objects.requireNonNull(invoke(connection, method, arguments));
                    return Proxy.newProxyInstance(
                            commands.getClassLoader(),
                            new Class<?>[] {commands},
                            (ignored, command, of) -> command(real, command, of));
                }
                case "addListener" -> added(arguments == null ? null : arguments[0]);
                default -> {
                    // As it is.
                }
            }
            return invoke(connection, method, arguments);
        }

        private @Nullable Object command(Object real, Method method, @Nullable Object @Nullable [] arguments)
                throws Throwable {
            Object answer = invoke(real, method, arguments);
            if (method.getName().equals("subscribe")
                    && arguments != null
                    && arguments[0] instanceof Object[] named
                    && real instanceof RedisPubSubAsyncCommands<?, ?>) {
                String[] channels = Arrays.copyOf(named, named.length, String[].class);
                later(() -> pushes().async().unsubscribe(channels));
            }
            connection.flushCommands();
            return answer;
        }

        private void added(@Nullable Object listener) {
            if (listener instanceof RedisConnectionStateListener state) {
                later(() -> connection.removeListener(state));
            } else if (listener instanceof RedisPubSubListener<?, ?>) {
                @SuppressWarnings("unchecked") // the listener of a connection for strings
                RedisPubSubListener<String, String> ours = (RedisPubSubListener<String, String>) listener;
                later(() -> pushes().removeListener(ours));
            }
        }

        @SuppressWarnings("unchecked") // asked for only where it is one
        private StatefulRedisPubSubConnection<String, String> pushes() {
            return (StatefulRedisPubSubConnection<String, String>) connection;
        }

        private synchronized void later(Runnable undo) {
            undoing.add(undo);
        }

        private synchronized boolean isEnded() {
            return ended;
        }

        private void end() {
            List<Runnable> all;
            synchronized (this) {
                ended = true;
                all = List.copyOf(undoing);
                undoing.clear();
            }
            all.forEach(Runnable::run);
            if (!all.isEmpty() && connection.isOpen()) {
                connection.flushCommands();
            }
        }
    }

    private static @Nullable Object invoke(Object target, Method method, @Nullable Object @Nullable [] arguments)
            throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            Throwable cause = e.getCause();
            throw cause == null ? e : cause;
        }
    }
}
