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
 * <p>A link never reconnects. When it ends, requests in flight fail and are never sent again. {@link Connections} makes
 * the next one. Safe for all threads; callbacks run on the connection's thread.
 */
public final class Link {

    /** The silence after which an unanswered connection is closed: its peer may have silently gone. */
    private static final long SILENCE_NANOS = 3_000_000_000L;

    private final RedisConnection connection;
    private final boolean asking;
    private final RedisConnection.@Nullable Acknowledging acknowledged;
    private final RedisConnection.@Nullable Joint joint;
    private final RedisUri address;
    private final ServerFacts facts;
    private final long madeAtNanos;
    private final Directness directness;
    private final Silence silence;
    /**
     * The silence of the second connection, which waits for replicas. An answer on one connection says nothing of the
     * other.
     */
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
        this.madeAtNanos = runtime.nanoTime();
        this.directness = new Directness(connection);
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
        this.madeAtNanos = link.madeAtNanos;
        this.directness = link.directness;
        this.silence = link.silence;
        this.acknowledging = link.acknowledging;
    }

    /** The same link, which sends {@code ASKING} before each request: for a server that has the slot only in part. */
    public Link asking() {
        return new Link(this);
    }

    /** The incarnation of the server behind this link. */
    public Incarnation incarnation() {
        return facts.incarnation();
    }

    /** When the link was made. */
    public long madeAtNanos() {
        return madeAtNanos;
    }

    /** The address of the server. */
    RedisUri address() {
        return address;
    }

    /** The facts of the server at the time when the link was made. */
    ServerFacts facts() {
        return facts;
    }

    /**
     * Runs a script by its digest, or by its text if the server does not know the script yet. The call may be sent
     * together with others.
     *
     * @param wanted whether the answer still matters; if not, a call without an answer by its digest or together with
     *     others is not sent again
     * @param then gets the answer or the exception, exactly one of them not null
     */
    public void run(
            ScriptCall call, BooleanSupplier wanted, BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
        ScriptCall here = here(call);
        ScriptCall.CommonCase common = here.common();
        if (joint == null || common == null) {
            runAlone(here, wanted, then);
        } else {
            silence.asked();
            joint.run(here, common, wanted, (reply, thrown) -> then.accept(reply, heard(silence, thrown)));
        }
    }

    /**
     * Completes a call for this link, with the run id that the server reported on it. A link never reconnects: a call
     * that could not be sent on it fails, and is completed again for the next link.
     */
    private ScriptCall here(ScriptCall call) {
        return call.on(incarnation().id(), directness::isProved);
    }

    /**
     * Whether this link is proved to lead to the server itself. If not, a proxy may change servers under the open
     * connection.
     */
    public CompletableFuture<Boolean> isDirect() {
        return directness.proof().copy();
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
                runByText(call, then);
            } else {
                then.accept(null, RedisConnection.givenUp());
            }
        });
        if (joint != null) {
            joint.haveLeft(call.keys());
        }
    }

    /** Sends the text of the script. Runs within a callback, whose exceptions no caller receives. */
    private void runByText(ScriptCall call, BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
        try {
            connection.run(call, true, asking, (reply, thrown) -> then.accept(reply, heard(silence, thrown)));
        } catch (RuntimeException | Error e) {
            then.accept(null, heard(silence, e));
        }
    }

    /** Notes an answer of the server, and returns the meaning of a failure. */
    private @Nullable Throwable heard(Silence of, @Nullable Throwable thrown) {
        Throwable error = connection.plain(thrown);
        // A call is given up only after an earlier answer.
        of.heard(error instanceof CancellationException ? null : error);
        return error;
    }

    /**
     * Runs a whole script and waits for replicas; only on a link that was made for this. An {@link #asking} link does
     * not wait for replicas: while a slot moves, no replica is asked to acknowledge.
     *
     * @param wanted whether the answer still matters; if not, a script that was not sent yet, or not by its text, is
     *     not sent
     */
    public void runAcknowledged(
            ScriptCall call, BooleanSupplier wanted, BiConsumer<@Nullable Acknowledged, @Nullable Throwable> then) {
        if (asking) {
            runAlone(
                    here(call),
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
        // Its own connection is not proved to be direct.
        ScriptCall there = call.on(incarnation().id(), () -> false);
        commit.run(there, wanted, (reply, thrown) -> then.accept(reply, heard(acknowledging, thrown)));
    }

    /** Sends a command that is not a script. */
    public <T> void send(PlainCommand<T> command, BiConsumer<@Nullable T, @Nullable Throwable> then) {
        silence.asked();
        connection.send(command, asking, (items, thrown) -> {
            Throwable error = heard(silence, thrown);
            T reply = null;
            if (items != null) {
                try {
                    reply = command.reading().apply(items);
                } catch (RuntimeException | Error e) {
                    // Without this the caller would get no answer.
                    error = e;
                }
            }
            then.accept(reply, error);
        });
    }

    /** Sends a command outside of the requests. */
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

    /** The time since when a connection with an unanswered request has been silent. */
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
     * Handles a request without an answer in time. If one of the connections has been silent for long, both are closed,
     * so that new ones can be made. A race with an answer costs at most one more time limit.
     */
    public void unanswered() {
        // A request may wait for the WAIT of earlier requests and then for its own.
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
        endAcknowledging();
    }

    /** Ends a link that is not needed, for example since there is another one. */
    void giveBack() {
        connection.giveBack();
        endAcknowledging();
    }

    private void endAcknowledging() {
        if (acknowledged != null) {
            acknowledged.close();
        }
    }
}
