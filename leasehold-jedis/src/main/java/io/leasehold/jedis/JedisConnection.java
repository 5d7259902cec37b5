package io.leasehold.jedis;

import io.leasehold.redis.topology.RedisConnection;
import io.leasehold.redis.wire.NotSentException;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.redis.wire.ServerRefusal;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;

/** A Jedis connection for commands. Each command is sent alone. */
final class JedisConnection implements RedisConnection, JedisWire.Reader {

    private static final Logger LOG = LoggerFactory.getLogger(JedisConnection.class);
    private static final CommandName EVAL = new CommandName("EVAL");
    private static final CommandName EVALSHA = new CommandName("EVALSHA");
    private static final CommandArguments ASKING = new CommandArguments(new CommandName("ASKING"));

    private final JedisWire wire;
    private final JedisThreads threads;
    /** In the order of sending. */
    private final Queue<Request> unanswered = new ConcurrentLinkedQueue<>();

    JedisConnection(Connection connection, JedisThreads threads) {
        this.wire = new JedisWire(connection, this);
        this.threads = threads;
        wire.start(threads);
    }

    /** A command in flight. If required, an {@code ASKING} precedes it, whose own reply is ignored. */
    private final class Request implements JedisWire.Outbound {
        private final boolean asking;
        private final CommandArguments command;
        private final BiConsumer<@Nullable List<Object>, @Nullable Throwable> then;

        Request(
                boolean asking,
                CommandArguments command,
                BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
            this.asking = asking;
            this.command = command;
            this.then = then;
        }

        @Override
        public List<CommandArguments> commands() {
            return asking ? List.of(ASKING, command) : List.of(command);
        }

        @Override
        public void leaves() {
            if (asking) {
                unanswered.add(new Request(false, ASKING, (reply, error) -> {}));
            }
            unanswered.add(this);
        }

        @Override
        public void staysUnsent(NotSentException why) {
            hear(null, why);
        }

        void hear(@Nullable List<Object> reply, @Nullable Throwable error) {
            try {
                then.accept(reply, error);
            } catch (RuntimeException | Error e) {
                // Others must still be notified.
                LOG.error("an answer could not be taken in", e);
            }
        }
    }

    @Override
    public void run(
            ScriptCall call,
            boolean byText,
            boolean asking,
            BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
        CommandArguments command = byText
                ? new CommandArguments(EVAL).add(call.script().text())
                : new CommandArguments(EVALSHA).add(call.script().sha1());
        command.add(call.keys().length);
        wire.send(new Request(asking, with(with(command, call.keys()), call.arguments()), then));
    }

    @Override
    public void send(
            PlainCommand<?> command, boolean asking, BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
        wire.send(new Request(
                asking, with(new CommandArguments(new CommandName(command.name())), command.arguments()), then));
    }

    private static CommandArguments with(CommandArguments command, String[] more) {
        for (String one : more) {
            command.add(one);
        }
        return command;
    }

    /** Its exceptions are Leasehold's already. */
    @Override
    public @Nullable Throwable plain(@Nullable Throwable thrown) {
        return thrown;
    }

    @Override
    public void came(@Nullable Object item) {
        Request first = unanswered.poll();
        if (first != null) {
            first.hear(Items.of(item), null);
        }
    }

    @Override
    public void refused(ServerRefusal refusal) {
        Request first = unanswered.poll();
        if (first != null) {
            first.hear(null, refusal);
        }
    }

    @Override
    public void ended(@Nullable RuntimeException why) {
        RuntimeException lost = new LostException(why);
        for (Request request = unanswered.poll(); request != null; request = unanswered.poll()) {
            request.hear(null, lost);
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
    public void onEnd(Runnable listener) {
        wire.onEnd(listener);
    }
}
