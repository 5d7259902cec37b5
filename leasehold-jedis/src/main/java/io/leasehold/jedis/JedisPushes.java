package io.leasehold.jedis;

import io.leasehold.redis.topology.PushConnection;
import io.leasehold.redis.wire.NotSentException;
import io.leasehold.redis.wire.ServerRefusal;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;

/** A connection of Jedis for subscriptions. */
final class JedisPushes implements PushConnection, JedisWire.Reader {

    private static final Logger LOG = LoggerFactory.getLogger(JedisPushes.class);
    private static final Named SUBSCRIBE = new Named("SUBSCRIBE");
    private static final Named SSUBSCRIBE = new Named("SSUBSCRIBE");
    private static final Named SUNSUBSCRIBE = new Named("SUNSUBSCRIBE");
    private static final Named PING = new Named("PING");

    private final JedisWire wire;
    private final JedisThreads threads;
    /** The commands that the server has not confirmed or refused yet, in the order in which they left. */
    private final Queue<CompletableFuture<Void>> unconfirmed = new ConcurrentLinkedQueue<>();

    private volatile Listener listener = message -> {};

    JedisPushes(Connection connection, JedisThreads threads) {
        this.wire = new JedisWire(connection, this);
        this.threads = threads;
        wire.start(threads);
    }

    @Override
    public void listen(Listener newListener) {
        listener = newListener;
    }

    /** One command, and who waits for its confirmation, if anybody does. */
    private record Wish(CommandArguments command, Queue<CompletableFuture<Void>> waiting, CompletableFuture<Void> done)
            implements JedisWire.Letter {

        @Override
        public List<CommandArguments> commands() {
            return List.of(command);
        }

        @Override
        public void leaves() {
            waiting.add(done);
        }

        @Override
        public void staysUnsent(NotSentException why) {
            done.completeExceptionally(why);
        }
    }

    private CompletableFuture<Void> confirmed(CommandArguments command) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        wire.send(new Wish(command, unconfirmed, done));
        return done;
    }

    @Override
    public CompletableFuture<Void> subscribe(String channel) {
        return confirmed(new CommandArguments(SUBSCRIBE).add(channel));
    }

    @Override
    public CompletableFuture<Void> subscribeSharded(String channel) {
        return confirmed(new CommandArguments(SSUBSCRIBE).add(channel));
    }

    @Override
    public CompletableFuture<Void> ping() {
        return confirmed(new CommandArguments(PING));
    }

    /** Each channel by itself: a server confirms each, and ends subscriptions unasked in the same words. */
    @Override
    public void unsubscribeSharded(List<String> channels) {
        for (String channel : channels) {
            wire.send(new Wish(
                    new CommandArguments(SUNSUBSCRIBE).add(channel),
                    new ConcurrentLinkedQueue<>(),
                    new CompletableFuture<>()));
        }
    }

    @Override
    public void came(@Nullable Object item) {
        List<Object> items = Items.of(item);
        String kind = String.valueOf(items.get(0));
        switch (kind) {
            case "message", "smessage" -> safely(() -> listener.message(String.valueOf(items.get(2))));
            case "sunsubscribe" -> safely(() -> listener.unsubscribed(String.valueOf(items.get(1))));
            default -> {
                CompletableFuture<Void> first = unconfirmed.poll();
                if (first != null) {
                    safely(() -> first.complete(null));
                }
            }
        }
    }

    private static void safely(Runnable telling) {
        try {
            telling.run();
        } catch (RuntimeException e) {
            LOG.error("what was pushed could not be taken in", e);
        }
    }

    @Override
    public void refused(ServerRefusal refusal) {
        CompletableFuture<Void> first = unconfirmed.poll();
        if (first != null) {
            first.completeExceptionally(refusal);
        }
    }

    @Override
    public void ended(@Nullable RuntimeException why) {
        RuntimeException lost = new LostException(why);
        for (CompletableFuture<Void> one = unconfirmed.poll(); one != null; one = unconfirmed.poll()) {
            one.completeExceptionally(lost);
        }
    }

    @Override
    public boolean isOpen() {
        return wire.isOpen();
    }

    @Override
    public void close() {
        wire.close(threads);
    }

    @Override
    public void onEnd(Runnable newListener) {
        wire.onEnd(newListener);
    }
}
