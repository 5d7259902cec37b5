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
    private final Queue<Wish> unconfirmed = new ConcurrentLinkedQueue<>();

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
    private final class Wish implements JedisWire.Letter {
        private final CommandArguments command;
        private final @Nullable String left;
        private final CompletableFuture<Void> done = new CompletableFuture<>();

        /**
         * A wish that has not left.
         *
         * @param left the channel whose subscription it ends, if it ends one
         */
        Wish(CommandArguments command, @Nullable String left) {
            this.command = command;
            this.left = left;
        }

        @Override
        public List<CommandArguments> commands() {
            return List.of(command);
        }

        @Override
        public void leaves() {
            unconfirmed.add(this);
        }

        @Override
        public void staysUnsent(NotSentException why) {
            done.completeExceptionally(why);
        }
    }

    private CompletableFuture<Void> confirmed(CommandArguments command) {
        Wish wish = new Wish(command, null);
        wire.send(wish);
        return wish.done;
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
            wire.send(new Wish(new CommandArguments(SUNSUBSCRIBE).add(channel), channel));
        }
    }

    @Override
    public void came(@Nullable Object item) {
        List<Object> items = Items.of(item);
        String kind = String.valueOf(items.get(0));
        switch (kind) {
            case "message", "smessage" -> safely(() -> listener.message(String.valueOf(items.get(2))));
            case "sunsubscribe" -> left(String.valueOf(items.get(1)));
            default -> {
                Wish first = unconfirmed.poll();
                if (first != null) {
                    safely(() -> first.done.complete(null));
                }
            }
        }
    }

    /** As it was told to, or unasked: then another wish may be the first, and still be unconfirmed. */
    private void left(String channel) {
        Wish first = unconfirmed.peek();
        if (first != null && channel.equals(first.left)) {
            unconfirmed.remove();
        }
        safely(() -> listener.unsubscribed(channel));
    }

    private static void safely(Runnable telling) {
        try {
            telling.run();
        } catch (RuntimeException | Error e) {
            LOG.error("what was pushed could not be taken in", e);
        }
    }

    @Override
    public void refused(ServerRefusal refusal) {
        Wish first = unconfirmed.poll();
        if (first != null) {
            safely(() -> first.done.completeExceptionally(refusal));
        }
    }

    @Override
    public void ended(@Nullable RuntimeException why) {
        RuntimeException lost = new LostException(why);
        for (Wish one = unconfirmed.poll(); one != null; one = unconfirmed.poll()) {
            Wish each = one;
            safely(() -> each.done.completeExceptionally(lost));
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
