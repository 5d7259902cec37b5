package io.leasehold.redis.topology;

import io.leasehold.LockStoreException;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.Failure;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Makes a {@link Link} to a server, once.
 *
 * <p>Every link begins with {@code INFO}, so that its run id is known before its first request. A process life
 * has one run id, and a connection leads to one process, so the run id of a link cannot change; reading it in every
 * script instead would cost each acquire 3 µs of the server's time. (A proxy that changes servers under an open
 * connection breaks this; nothing on which exclusion depends is derived from it at a single node.)
 */
final class Handshake {

    private static final int FIRST_TRIES = 20;
    private static final long FIRST_PAUSE_NANOS = 5_000_000L;
    private static final long ANSWER_NANOS = 3_000_000_000L;

    private final Driver driver;
    private final Expectation expectation;
    private final RedisErrors errors;
    private final LockRuntime runtime;
    private final Consumer<Link> onEnd;

    /**
     * Makes nothing yet.
     *
     * @param expectation what the server has to be
     * @param onEnd told of the end of each link
     */
    Handshake(Driver driver, Expectation expectation, RedisErrors errors, LockRuntime runtime, Consumer<Link> onEnd) {
        this.driver = driver;
        this.expectation = expectation;
        this.errors = errors;
        this.runtime = runtime;
        this.onEnd = onEnd;
    }

    /** Makes a link; fails with a {@link LockStoreException} that says why there is none. */
    CompletableFuture<Link> with(RedisUri server) {
        return driver.connect(server)
                .handle((connection, error) -> {
                    if (error != null) {
                        return CompletableFuture.<Link>failedFuture(errors.unreachable(error));
                    }
                    // Who accepts a connection and then says nothing is tried again.
                    LockRuntime.Timer patience = runtime.schedule(ANSWER_NANOS, connection::close);
                    return info(connection, FIRST_TRIES)
                            .handle((info, refusal) -> {
                                patience.cancel();
                                if (refusal != null) {
                                    connection.close();
                                    return CompletableFuture.<Link>failedFuture(
                                            errors.of(refusal, "read INFO").error());
                                }
                                return withAcknowledgements(connection, server, info);
                            })
                            .thenCompose(f -> f);
                })
                .thenCompose(f -> f);
    }

    /**
     * The first command of a connection. Where the handshake has a password it may end on a thread of its own, and the driver
     * then tells of the connection a moment before it takes commands.
     */
    private CompletableFuture<String> info(RedisConnection connection, int tries) {
        return connection
                .ask(PlainCommand.INFO)
                .handle((info, refusal) -> {
                    if (refusal == null || tries <= 1 || !RedisErrors.isNotConnected(refusal)) {
                        return refusal == null
                                ? CompletableFuture.completedFuture(info)
                                : CompletableFuture.<String>failedFuture(refusal);
                    }
                    CompletableFuture<Void> moment = new CompletableFuture<>();
                    runtime.schedule(FIRST_PAUSE_NANOS, () -> moment.complete(null));
                    return moment.thenCompose(done -> info(connection, tries - 1));
                })
                .thenCompose(next -> next);
    }

    /** Where replicas are waited for, a second connection belongs to the link. */
    private CompletableFuture<Link> withAcknowledgements(RedisConnection connection, RedisUri server, String info) {
        if (!server.acknowledgement().isWanted()) {
            return checked(connection, null, server, info);
        }
        return driver.connect(server)
                .thenCompose(second -> second.ask(PlainCommand.waitForReplicas(0, 1))
                        .thenCompose(ready -> {
                            second.onEnd(connection::close);
                            return checked(connection, second.acknowledging(server.acknowledgement()), server, info);
                        })
                        .whenComplete((link, error) -> {
                            if (error != null) {
                                second.close();
                            }
                        }))
                .handle((link, error) -> {
                    if (error == null) {
                        return CompletableFuture.completedFuture(link);
                    }
                    connection.close();
                    Throwable cause = Failure.unwrapped(error);
                    return CompletableFuture.<Link>failedFuture(
                            cause instanceof LockStoreException
                                    ? cause
                                    : errors.of(cause, "wait for replicas (WAIT)")
                                            .error());
                })
                .thenCompose(f -> f);
    }

    private CompletableFuture<Link> checked(
            RedisConnection connection,
            RedisConnection.@Nullable Acknowledging acknowledged,
            RedisUri server,
            String info) {
        try {
            ServerFacts facts = ServerFacts.parse(info);
            expectation.refuseUnfit(server, facts);
            Link link = new Link(connection, acknowledged, server, facts, runtime);
            connection.onEnd(() -> {
                link.close();
                onEnd.accept(link);
            });
            return CompletableFuture.completedFuture(link);
        } catch (RuntimeException e) {
            connection.close();
            LockStoreException reason = e instanceof LockStoreException known
                    ? known
                    : errors.unavailable("does not answer like a Redis server: " + e.getMessage(), e);
            return CompletableFuture.failedFuture(reason);
        }
    }
}
