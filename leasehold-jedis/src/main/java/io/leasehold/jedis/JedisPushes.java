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

/** A Jedis connection for subscriptions. */
final class JedisPushes implements PushConnection, JedisWire.Reader {

    private static final Logger LOG = LoggerFactory.getLogger(JedisPushes.class);
    private static final CommandName SUBSCRIBE = new CommandName("SUBSCRIBE");
    private static final CommandName SSUBSCRIBE = new CommandName("SSUBSCRIBE");
    private static final CommandName SUNSUBSCRIBE = new CommandName("SUNSUBSCRIBE");
    private static final CommandName INFO = new CommandName("INFO");
    private static final CommandName PING = new CommandName("PING");

    private final JedisWire wire;
    private final JedisThreads threads;
    /** The commands that the server has neither confirmed nor refused yet, in the order of sending. */
    private final Queue<PendingCommand> unconfirmed = new ConcurrentLinkedQueue<>();

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

    /** A command, and the future of its confirmation. */
    private final class PendingCommand implements JedisWire.Outbound {
        private final CommandArguments command;
        private final @Nullable String left;
        /** Completes with the items of the answer. */
        private final CompletableFuture<List<Object>> done = new CompletableFuture<>();

        /**
         * Creates a command that has not been sent.
         *
         * @param left the channel whose subscription the command ends, if any
         */
        PendingCommand(CommandArguments command, @Nullable String left) {
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

    private CompletableFuture<List<Object>> answered(CommandArguments command) {
        PendingCommand pending = new PendingCommand(command, null);
        wire.send(pending);
        return pending.done;
    }

    private CompletableFuture<Void> confirmed(CommandArguments command) {
        return answered(command).thenAccept(items -> {});
    }

    @Override
    public CompletableFuture<String> serverInfo() {
        return answered(new CommandArguments(INFO).add("server")).thenApply(items -> String.valueOf(items.get(0)));
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

    /**
     * Ends each subscription separately: a server confirms each, and uses the same reply when it ends a subscription
     * unasked.
     */
    @Override
    public void unsubscribeSharded(List<String> channels) {
        for (String channel : channels) {
            wire.send(new PendingCommand(new CommandArguments(SUNSUBSCRIBE).add(channel), channel));
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
                PendingCommand first = unconfirmed.poll();
                if (first != null) {
                    safely(() -> first.done.complete(items));
                }
            }
        }
    }

    /**
     * Processes the end of a subscription, requested or unasked. If it was unasked, the first command in the queue may
     * be another one, and is still unconfirmed.
     */
    private void left(String channel) {
        PendingCommand first = unconfirmed.peek();
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
        PendingCommand first = unconfirmed.poll();
        if (first != null) {
            safely(() -> first.done.completeExceptionally(refusal));
        }
    }

    @Override
    public void ended(@Nullable RuntimeException why) {
        RuntimeException lost = new LostException(why);
        for (PendingCommand one = unconfirmed.poll(); one != null; one = unconfirmed.poll()) {
            PendingCommand each = one;
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
