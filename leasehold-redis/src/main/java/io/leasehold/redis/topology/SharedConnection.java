package io.leasehold.redis.topology;

import io.leasehold.redis.wire.NotSentException;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.ScriptCall;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The part of one client in a connection for requests that several clients share. When the part ends, its requests in
 * flight fail at once, as with a separate connection. Late answers are dropped.
 */
final class SharedConnection implements RedisConnection {

    private final SharedLine line;
    private final RedisConnection connection;
    private final List<Runnable> listeners = new CopyOnWriteArrayList<>();
    private volatile boolean over;
    /** Whether the client has ended this part itself, before the connection ended. Guarded by {@link #inFlight}. */
    private boolean left;
    /** The requests in flight: a list, in which this object precedes the first. Guarded by itself. */
    private final InFlight inFlight = new InFlight(null);

    SharedConnection(SharedLine line, RedisConnection connection) {
        this.line = line;
        this.connection = connection;
    }

    /** A request that waits for its answer, which it passes on once. The links are guarded by {@link #inFlight}. */
    private final class InFlight implements BiConsumer<@Nullable List<Object>, @Nullable Throwable> {
        private final @Nullable BiConsumer<@Nullable List<Object>, @Nullable Throwable> then;
        private @Nullable InFlight before;
        private @Nullable InFlight after;
        /** Whether the connection has accepted it, so that no later step of the sender can follow its failure. */
        private boolean sent;

        InFlight(@Nullable BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
            this.then = then;
        }

        @Override
        public void accept(@Nullable List<Object> reply, @Nullable Throwable error) {
            BiConsumer<@Nullable List<Object>, @Nullable Throwable> waiting = then;
            if (leave(this) && waiting != null) {
                waiting.accept(reply, error);
            }
        }
    }

    /** Notes a request; refuses it if this part has ended. */
    private InFlight noted(BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
        InFlight one = new InFlight(then);
        synchronized (inFlight) {
            if (over) {
                throw new NotSentException("Connection is closed", null);
            }
            InFlight next = inFlight.after;
            one.before = inFlight;
            one.after = next;
            inFlight.after = one;
            if (next != null) {
                next.before = one;
            }
        }
        return one;
    }

    /** Takes a request out, and returns whether it was still waiting. */
    private boolean leave(InFlight one) {
        synchronized (inFlight) {
            InFlight before = one.before;
            InFlight after = one.after;
            if (before == null) {
                return false;
            }
            before.after = after;
            if (after != null) {
                after.before = before;
            }
            one.before = null;
            one.after = null;
            return true;
        }
    }

    /**
     * Notes that the connection has accepted a request. If this part ended meanwhile, the request fails here and not
     * earlier: its caller may undo it on another connection, and the request must not be sent after its undo.
     */
    private void passedOn(InFlight one) {
        boolean late;
        synchronized (inFlight) {
            one.sent = true;
            late = left;
        }
        if (late) {
            one.accept(null, closed());
        }
    }

    private @Nullable InFlight anySent() {
        synchronized (inFlight) {
            InFlight one = inFlight.after;
            while (one != null && !one.sent) {
                one = one.after;
            }
            return one;
        }
    }

    private void failAll() {
        synchronized (inFlight) {
            left = true;
        }
        for (InFlight one = anySent(); one != null; one = anySent()) {
            InFlight failing = one;
            Isolated.run(() -> failing.accept(null, closed()));
        }
    }

    private static IOException closed() {
        return new IOException("the connection was closed");
    }

    @Override
    public void run(
            ScriptCall call,
            boolean byText,
            boolean asking,
            BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
        InFlight one = noted(then);
        try {
            connection.run(call, byText, asking, one);
        } catch (RuntimeException | Error e) {
            // A connection that throws has accepted nothing and calls nothing back.
            leave(one);
            throw e;
        }
        passedOn(one);
    }

    @Override
    public void send(
            PlainCommand<?> command, boolean asking, BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
        InFlight one = noted(then);
        try {
            connection.send(command, asking, one);
        } catch (RuntimeException | Error e) {
            leave(one);
            throw e;
        }
        passedOn(one);
    }

    @Override
    public @Nullable Throwable plain(@Nullable Throwable thrown) {
        return thrown instanceof NotSentException ? thrown : connection.plain(thrown);
    }

    @Override
    public @Nullable Joint joint(boolean bySlot, Alone alone) {
        Joint joint = connection.joint(bySlot, alone);
        return joint == null ? null : new NotedJoint(joint);
    }

    /** Joint calls of one client: they never join those of another. */
    private final class NotedJoint implements Joint {
        private final Joint joint;

        NotedJoint(Joint joint) {
            this.joint = joint;
        }

        @Override
        public void run(
                ScriptCall call,
                ScriptCall.CommonCase common,
                BooleanSupplier wanted,
                BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
            InFlight one = noted(then);
            try {
                joint.run(call, common, wanted, one);
            } catch (RuntimeException | Error e) {
                leave(one);
                throw e;
            }
            passedOn(one);
        }

        @Override
        public void haveLeft(String... keys) {
            joint.haveLeft(keys);
        }
    }

    @Override
    public boolean hasEnds(InetSocketAddress local, InetSocketAddress remote) {
        return connection.hasEnds(local, remote);
    }

    @Override
    public boolean isOpen() {
        return !over && connection.isOpen();
    }

    @Override
    public void onEnd(Runnable listener) {
        listeners.add(listener);
    }

    /** Ends this part because its client doubts the connection, which is not offered to further clients. */
    @Override
    public void close() {
        leave(true);
    }

    @Override
    public void giveBack() {
        leave(false);
    }

    private void leave(boolean doubted) {
        line.left(this, doubted);
        if (isFirstEnd()) {
            failAll();
            listeners.forEach(Isolated::run);
        }
    }

    /**
     * Notes that the connection has ended. The connection fails the requests itself, and knows which of them were not
     * sent.
     */
    void ended() {
        if (isFirstEnd()) {
            // The listener of one client must not keep another client from noticing.
            listeners.forEach(Isolated::run);
        }
    }

    private synchronized boolean isFirstEnd() {
        boolean first = !over;
        over = true;
        return first;
    }
}
