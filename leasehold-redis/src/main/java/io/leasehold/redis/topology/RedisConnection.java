package io.leasehold.redis.topology;

import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.ScriptCall;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One life of a connection to a server, in any client library. When it ends, requests in flight fail and are not sent
 * again.
 *
 * <p>Requests are sent in the order of the calls. A callback gets the answer or the failure, exactly one of them not
 * null. The failure is the library's own exception; {@link #plain} gives its meaning. Safe for all threads; no method
 * blocks. If a method throws, it has accepted nothing and does not call the callback.
 */
public interface RedisConnection {

    /**
     * Runs the whole script of a call.
     *
     * @param byText whether to send the text of the script in place of its digest
     * @param asking whether the server has the slot only in part, so that {@code ASKING} is sent before the script
     */
    void run(
            ScriptCall call,
            boolean byText,
            boolean asking,
            BiConsumer<@Nullable List<Object>, @Nullable Throwable> then);

    /** Sends a command that is not a script; the callback gets the items of the answer. */
    void send(PlainCommand<?> command, boolean asking, BiConsumer<@Nullable List<Object>, @Nullable Throwable> then);

    /**
     * Sends a command outside of the requests. The future completes with the decoded answer or with the meaning of the
     * failure.
     */
    default <T> CompletableFuture<T> ask(PlainCommand<T> command) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        send(command, false, (items, error) -> {
            if (items == null) {
                Throwable meaning = plain(error);
                answer.completeExceptionally(meaning == null ? new IllegalStateException("no answer") : meaning);
                return;
            }
            try {
                answer.complete(command.reading().apply(items));
            } catch (RuntimeException | Error e) {
                answer.completeExceptionally(e);
            }
        });
        return answer;
    }

    /**
     * Converts an exception of the library: to a {@link io.leasehold.redis.wire.ServerRefusal} if the server has
     * answered with an error, to a {@link io.leasehold.redis.wire.NotSentException} if nothing was sent; null stays
     * null.
     */
    @Nullable
    Throwable plain(@Nullable Throwable thrown);

    /**
     * The object that sends several calls together, or null if the library sends each call alone.
     *
     * @param bySlot whether only calls of the same slot may be sent together, since the server is part of a Cluster
     */
    default @Nullable Joint joint(boolean bySlot, Alone alone) {
        return null;
    }

    /**
     * Uses this connection only for scripts that replicas acknowledge, from now on.
     *
     * @throws UnsupportedOperationException if the library does not support that
     */
    default Acknowledging acknowledging(Acknowledgement wanted) {
        throw new UnsupportedOperationException("waitReplicas needs Lettuce");
    }

    /** The failure of a command that its caller gave up before it was sent or sent again. */
    static CancellationException givenUp() {
        return new CancellationException("given up before it could be sent again");
    }

    /**
     * Whether this side has an open connection with these two ends, as this side sees them; false if the library does not
     * tell. No two connections have the same two ends.
     */
    default boolean hasEnds(InetSocketAddress local, InetSocketAddress remote) {
        return false;
    }

    /** Whether the connection accepts commands. */
    boolean isOpen();

    /** Closes the connection, at most once. */
    void close();

    /** Closes a connection that is not needed any more, although nothing is wrong with it. */
    default void giveBack() {
        close();
    }

    /** Registers the listener for the end of the connection. */
    void onEnd(Runnable listener);

    /** Sends calls, several of them together if possible. */
    interface Joint {
        /**
         * Runs a call that has a common case.
         *
         * @param wanted whether the answer still matters; if not, the call is not sent a second time
         */
        void run(
                ScriptCall call,
                ScriptCall.CommonCase common,
                BooleanSupplier wanted,
                BiConsumer<@Nullable List<Object>, @Nullable Throwable> then);

        /** Notes a call that was sent by another way: no later call with its keys may be written before it. */
        void haveLeft(String... keys);
    }

    /** Sends a call alone. */
    interface Alone {
        /** Sends the call and passes its answer on. Sends it again only if the answer still matters at that time. */
        void run(ScriptCall call, BooleanSupplier wanted, BiConsumer<@Nullable List<Object>, @Nullable Throwable> then);
    }

    /** Runs scripts and waits for replicas after each. */
    interface Acknowledging {
        /**
         * Runs a script by its digest or its text, and passes on its answer when the wait for replicas is over.
         *
         * @param wanted whether the answer still matters; if not, a script that was not sent yet, or not by its text,
         *     is not sent
         */
        void run(ScriptCall call, BooleanSupplier wanted, BiConsumer<@Nullable Acknowledged, @Nullable Throwable> then);

        /** Closes its connection. */
        void close();
    }
}
