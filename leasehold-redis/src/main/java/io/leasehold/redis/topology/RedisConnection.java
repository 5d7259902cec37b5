package io.leasehold.redis.topology;

import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.ScriptCall;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A connection to a server, in whatever client library, for one life of it: what is in flight when it ends fails, and is not sent again.
 *
 * <p>What is asked leaves in the order in which it was asked. Who asked gets the answer or what went wrong, exactly one of them not null;
 * the latter in the library's own exceptions, of which {@link #plain} tells the meaning. Safe for all threads; no method blocks.
 * A method that throws has taken nothing, and tells nothing besides.
 */
public interface RedisConnection {

    /**
     * Runs a script whole.
     *
     * @param byText by its text, in place of its digest
     * @param asking whether this is for a server that has the slot only in part: that we know it leaves before the script
     */
    void run(
            ScriptCall call,
            boolean byText,
            boolean asking,
            BiConsumer<@Nullable List<Object>, @Nullable Throwable> then);

    /** Sends a command that is no script; who asked gets the items of the answer. */
    void send(PlainCommand<?> command, boolean asking, BiConsumer<@Nullable List<Object>, @Nullable Throwable> then);

    /** The same, for a question beside the requests: what is read of the answer, or the meaning of what went wrong. */
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
     * The meaning of an exception of the library: a {@link io.leasehold.redis.wire.ServerRefusal} if the server has answered with an error, a
     * {@link io.leasehold.redis.wire.NotSentException} if nothing was sent; null stays null.
     */
    @Nullable
    Throwable plain(@Nullable Throwable thrown);

    /**
     * The object that lets calls leave together, or null where each leaves alone.
     *
     * @param bySlot only those of one slot, since the server is of a Cluster
     */
    default @Nullable Joint joint(boolean bySlot, Alone alone) {
        return null;
    }

    /**
     * Scripts that are acknowledged by replicas, over this connection, which has no other use from now on.
     *
     * @throws UnsupportedOperationException where there are none
     */
    default Acknowledging acknowledging(Acknowledgement wanted) {
        throw new UnsupportedOperationException("waitReplicas needs Lettuce");
    }

    /** The failure of a command that was given up before it was sent, or sent again. */
    static CancellationException givenUp() {
        return new CancellationException("given up before it could be sent again");
    }

    /** Whether it takes commands. */
    boolean isOpen();

    /** Ends it, once. */
    void close();

    /** Registers the listener for its end. */
    void onEnd(Runnable listener);

    /** Calls that may leave together. */
    interface Joint {
        /**
         * Runs a call that has a common case.
         *
         * @param wanted whether its answer still matters; if not, it is not sent a second time
         */
        void run(
                ScriptCall call,
                ScriptCall.CommonCase common,
                BooleanSupplier wanted,
                BiConsumer<@Nullable List<Object>, @Nullable Throwable> then);

        /** A call has left that does not go through here: nothing that follows about its keys may be written before it. */
        void haveLeft(String... keys);
    }

    /** Runs a call alone. */
    interface Alone {
        /** Sends it, again only if its answer still matters by then, and tells its answer. */
        void run(ScriptCall call, BooleanSupplier wanted, BiConsumer<@Nullable List<Object>, @Nullable Throwable> then);
    }

    /** Runs scripts, each of which waits for replicas. */
    interface Acknowledging {
        /**
         * Runs a script by its digest or its text, and tells its answer once replicas have had their time.
         *
         * @param wanted whether the answer still matters: what has not left yet, or not by its text, leaves only then
         */
        void run(ScriptCall call, BooleanSupplier wanted, BiConsumer<@Nullable Acknowledged, @Nullable Throwable> then);

        /** Ends its connection. */
        void close();
    }
}
