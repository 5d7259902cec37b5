package io.leasehold.jedis;

import io.leasehold.Credentials;
import io.leasehold.redis.topology.Driver;
import io.leasehold.redis.topology.PushConnection;
import io.leasehold.redis.topology.RedisConnection;
import io.leasehold.redis.topology.RedisUri;
import io.leasehold.redis.wire.NotSentException;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.toolkit.CredentialsDesk;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisDataException;

/**
 * Jedis, configured to send everything at most once: only its connections are used, and neither its pools nor its
 * executors.
 */
final class JedisDriver implements Driver {

    private final Ways ways;
    private final JedisThreads threads;
    private final Set<Runnable> ends = ConcurrentHashMap.newKeySet();
    private volatile boolean closing;
    private volatile @Nullable CredentialsDesk credentials;

    /** Makes connections that are logged in. */
    interface Ways {
        /**
         * Blocks until there is a connection.
         *
         * @param login used instead of the login in the server's own settings, unless null
         * @throws RuntimeException if no connection could be made
         */
        Connection connect(RedisUri server, @Nullable Credentials login);
    }

    JedisDriver(String store, Ways ways) {
        this.ways = ways;
        this.threads = new JedisThreads(store);
    }

    @Override
    public void logInWith(CredentialsDesk desk) {
        credentials = desk;
    }

    @Override
    public CompletableFuture<RedisConnection> connect(RedisUri server) {
        return connected(server, connection -> {
            JedisConnection made = new JedisConnection(connection, threads);
            keep(made::close, made::onEnd);
            return made;
        });
    }

    @Override
    public CompletableFuture<PushConnection> connectForPushes(RedisUri server) {
        return connected(server, connection -> {
            JedisPushes made = new JedisPushes(connection, threads);
            keep(made::close, made::onEnd);
            return made;
        });
    }

    /** Keeps the connection until it ends; a close in the meantime ends it, too. */
    private void keep(Runnable end, Consumer<Runnable> onEnd) {
        ends.add(end);
        onEnd.accept(() -> ends.remove(end));
        if (closing) {
            end.run();
        }
    }

    private <C> CompletableFuture<C> connected(RedisUri server, Function<Connection, C> use) {
        CredentialsDesk desk = credentials;
        return desk == null || !server.asksForLogin()
                ? made(server, null, use)
                : desk.ask().thenCompose(login -> made(server, login, use));
    }

    private <C> CompletableFuture<C> made(RedisUri server, @Nullable Credentials login, Function<Connection, C> use) {
        CompletableFuture<C> made = new CompletableFuture<>();
        if (closing) {
            return CompletableFuture.failedFuture(new NotSentException("Connection is closed", null));
        }
        threads.connect(
                () -> {
                    try {
                        made.complete(used(ways.connect(server, login), use));
                    } catch (RuntimeException e) {
                        made.completeExceptionally(meaning(e));
                    } catch (Error e) {
                        // For example if the system has no more threads: the waiting caller is notified.
                        made.completeExceptionally(e);
                    }
                },
                made);
        return made;
    }

    private static <C> C used(Connection connection, Function<Connection, C> use) {
        C made = null;
        try {
            made = use.apply(connection);
            return made;
        } finally {
            if (made == null) {
                JedisWire.disconnect(connection);
            }
        }
    }

    /**
     * The refusal of a login may be the cause of other exceptions. The deepest one has the server's own message. It
     * shows whether the chain repeats a password, as an argument of a command that the server does not know.
     */
    static Throwable meaning(RuntimeException thrown) {
        Throwable refusal = null;
        for (Throwable t = thrown; t != null; t = t.getCause()) {
            if (t instanceof JedisDataException) {
                refusal = t;
            }
        }
        return refusal == null ? thrown : new ServerRefusal(refusal.getMessage(), thrown);
    }

    @Override
    public void close() {
        closing = true;
        ends.forEach(Runnable::run);
        threads.close();
    }
}
