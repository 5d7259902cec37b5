package io.leasehold.redis.topology;

import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One life of one connection to one life of one server.
 *
 * <p>It never reconnects: what was in flight when it ends fails, and is never sent again. {@link Connections} makes
 * the next one. Safe for all threads; callbacks run on the connection's thread.
 */
public final class Link {

    /** An unanswered connection is given up after this: its peer may be gone without a word. */
    private static final long SILENCE_NANOS = 3_000_000_000L;

    private final RedisConnection connection;
    private final boolean asking;
    private final RedisConnection.@Nullable Acknowledging acknowledged;
    private final RedisConnection.@Nullable Joint joint;
    private final RedisUri address;
    private final ServerFacts facts;
    private final Silence silence;
    /** The silence of the second connection, which waits for replicas: what is heard on one of them says nothing of the other. */
    private final Silence acknowledging;

    Link(
            RedisConnection connection,
            RedisConnection.@Nullable Acknowledging acknowledged,
            RedisUri address,
            ServerFacts facts,
            LockRuntime runtime) {
        this.acknowledged = acknowledged;
        this.connection = connection;
        this.asking = false;
        this.joint = connection.joint(facts.mode().equals("cluster"), this::runAlone);
        this.address = address;
        this.facts = facts;
        this.silence = new Silence(runtime);
        this.acknowledging = new Silence(runtime);
    }

    private Link(Link link) {
        this.acknowledged = link.acknowledged;
        this.connection = link.connection;
        this.asking = true;
        this.joint = null;
        this.address = link.address;
        this.facts = link.facts;
        this.silence = link.silence;
        this.acknowledging = link.acknowledging;
    }

    /** The same link, over which {@code ASKING} leaves before each request: for a server that has the slot only in part. */
    public Link asking() {
        return new Link(this);
    }

    /** The life of the server's memory behind this link. */
    public Incarnation incarnation() {
        return facts.incarnation();
    }

    /** Where the server is. */
    RedisUri address() {
        return address;
    }

    /** The facts of the server, from when the link was made. */
    ServerFacts facts() {
        return facts;
    }

    /**
     * Runs a script, by its digest; a server that does not know it yet gets its text. It may leave together with other calls.
     *
     * @param wanted whether the answer still matters: what did not get one by its digest, or together with others, is sent again only
     *     then
     * @param then takes the answer or the exception, exactly one of them not null
     */
    public void run(
            ScriptCall call, BooleanSupplier wanted, BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
        ScriptCall.CommonCase common = call.common();
        if (joint == null || common == null) {
            runAlone(call, wanted, then);
        } else {
            silence.asked();
            joint.run(call, common, wanted, (reply, thrown) -> then.accept(reply, heard(silence, thrown)));
        }
    }

    private void runAlone(
            ScriptCall call, BooleanSupplier wanted, BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
        silence.asked();
        connection.run(call, false, asking, (reply, thrown) -> {
            Throwable error = heard(silence, thrown);
            if (!(error instanceof ServerRefusal refusal) || !refusal.isOfUnknownScript()) {
                then.accept(reply, error);
            } else if (wanted.getAsBoolean()) {
                // The server has refused the digest, so nothing has run yet.
                connection.run(
                        call,
                        true,
                        asking,
                        (second, secondThrown) -> then.accept(second, heard(silence, secondThrown)));
            } else {
                then.accept(null, RedisConnection.givenUp());
            }
        });
        if (joint != null) {
            joint.haveLeft(call.keys());
        }
    }

    /** Notes that the server has answered; else the meaning of the failure. */
    private @Nullable Throwable heard(Silence of, @Nullable Throwable thrown) {
        Throwable error = connection.plain(thrown);
        // What was given up was answered before.
        of.heard(error instanceof CancellationException ? null : error);
        return error;
    }

    /**
     * Runs a script whole and waits for replicas; only on a link that was made for it. Of one that is {@link #asking} none is waited
     * for: while its slot is being moved nobody is asked to acknowledge.
     *
     * @param wanted whether the answer still matters: what has not left yet, or not by its text, leaves only then
     */
    public void runAcknowledged(
            ScriptCall call, BooleanSupplier wanted, BiConsumer<@Nullable Acknowledged, @Nullable Throwable> then) {
        if (asking) {
            runAlone(
                    call,
                    wanted,
                    (reply, error) -> then.accept(reply == null ? null : new Acknowledged(reply, 0), error));
            return;
        }
        RedisConnection.Acknowledging commit = acknowledged;
        if (commit == null) {
            then.accept(null, new IllegalStateException("this link does not wait for replicas"));
            return;
        }
        acknowledging.asked();
        commit.run(call, wanted, (reply, thrown) -> then.accept(reply, heard(acknowledging, thrown)));
    }

    /** Sends another command. */
    public <T> void send(PlainCommand<T> command, BiConsumer<@Nullable T, @Nullable Throwable> then) {
        silence.asked();
        connection.send(command, asking, (items, thrown) -> {
            Throwable error = heard(silence, thrown);
            T reply = null;
            if (items != null) {
                try {
                    reply = command.reading().apply(items);
                } catch (RuntimeException | Error e) {
                    // Nothing else would tell who asked.
                    error = e;
                }
            }
            then.accept(reply, error);
        });
    }

    /** The same, for a question beside the requests. */
    public <T> CompletableFuture<T> ask(PlainCommand<T> command) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        try {
            this.<T>send(command, (reply, error) -> {
                if (reply != null) {
                    answer.complete(reply);
                } else {
                    answer.completeExceptionally(error == null ? new IllegalStateException("no answer") : error);
                }
            });
        } catch (RuntimeException | Error e) {
            answer.completeExceptionally(e);
        }
        return answer;
    }

    /** Since when nothing has been heard on a connection that was asked something. */
    private static final class Silence {
        private final LockRuntime runtime;
        private volatile boolean lasts;
        private volatile long sinceNanos;

        Silence(LockRuntime runtime) {
            this.runtime = runtime;
        }

        void asked() {
            if (!lasts) {
                sinceNanos = runtime.nanoTime();
                lasts = true;
            }
        }

        void heard(@Nullable Throwable error) {
            if (error == null || error instanceof ServerRefusal) {
                lasts = false;
            }
        }

        boolean isAtLeast(long nanos) {
            return lasts && runtime.nanoTime() - sinceNanos >= nanos;
        }
    }

    /**
     * A request was not answered in time. If nothing at all has been heard for long on one of the connections, both are ended, so
     * that others can be made. A race between answers here costs at most one more time limit.
     */
    public void unanswered() {
        // A request may wait for the WAIT before it, and then for its own.
        long waits = 2 * TimeUnit.MILLISECONDS.toNanos(address.acknowledgement().timeoutMillis());
        if (silence.isAtLeast(SILENCE_NANOS) || acknowledging.isAtLeast(SILENCE_NANOS + waits)) {
            close();
        }
    }

    boolean isOpen() {
        return connection.isOpen();
    }

    void close() {
        connection.close();
        if (acknowledged != null) {
            acknowledged.close();
        }
    }
}
