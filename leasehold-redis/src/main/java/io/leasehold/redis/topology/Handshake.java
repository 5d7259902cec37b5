package io.leasehold.redis.topology;

import io.leasehold.LockStoreException;
import io.leasehold.redis.wire.InfoText;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.LockRuntime;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Makes one {@link Link} to a server.
 *
 * <p>Every link begins with {@code INFO}, so that its run id is known before its first request. A server process has
 * one run id, and a connection leads to one process, so the run id of a link cannot change. Reading it in every script
 * instead would cost each acquire 3 µs of the server's time. A proxy that changes servers under an open connection
 * breaks this rule. At a single node, exclusion does not depend on the rule, with one exception: a lease that begins
 * with the message of a hand-over counts from an earlier answer, and such a proxy mixes the clocks of two servers. A
 * script for a member of a set therefore reads the run id itself if a proxy is declared or likely ({@link
 * io.leasehold.redis.wire.LifeCheck}).
 */
final class Handshake {

    private static final int FIRST_TRIES = 20;
    private static final long FIRST_PAUSE_NANOS = 5_000_000L;
    private static final long ANSWER_NANOS = 3_000_000_000L;
    /** The time limit of a connection. It is longer than that of the credentials, whose own failure says more. */
    private static final long CONNECT_NANOS = 15_000_000_000L;

    private final Driver driver;
    private final Function<RedisUri, CompletableFuture<RedisConnection>> connecting;
    private final Expectation expectation;
    private final RedisErrors errors;
    private final LockRuntime runtime;
    private final Consumer<Link> onEnd;

    /**
     * Creates the handshake; nothing is connected yet.
     *
     * @param connecting makes the connection for the requests of a link
     * @param expectation the required role of the server
     * @param onEnd called at the end of each link
     */
    Handshake(
            Driver driver,
            Function<RedisUri, CompletableFuture<RedisConnection>> connecting,
            Expectation expectation,
            RedisErrors errors,
            LockRuntime runtime,
            Consumer<Link> onEnd) {
        this.driver = driver;
        this.connecting = connecting;
        this.expectation = expectation;
        this.errors = errors;
        this.runtime = runtime;
        this.onEnd = onEnd;
    }

    /** Makes a link within a time limit; fails with a {@link LockStoreException} that gives the reason. */
    CompletableFuture<Link> with(RedisUri server) {
        List<RedisConnection> made = new CopyOnWriteArrayList<>();
        return connected(() -> connecting.apply(server), made)
                .thenCompose(first -> answered(() -> first(() -> first.ask(PlainCommand.INFO), runtime), "read INFO")
                        .thenCompose(info -> acknowledging(server, first, info, made)
                                .thenApply(second -> checked(first, second, server, info))))
                .whenComplete((link, error) -> {
                    if (error != null) {
                        made.forEach(RedisConnection::close);
                    }
                });
    }

    private CompletableFuture<RedisConnection> connected(
            Supplier<CompletableFuture<RedisConnection>> connecting, List<RedisConnection> made) {
        return StepLimit.of(
                        connecting,
                        CONNECT_NANOS,
                        () -> errors.unavailable("could not be connected to in time", null),
                        RedisConnection::giveBack,
                        runtime)
                .handle((connection, error) -> {
                    if (error != null) {
                        throw errors.unreachable(error);
                    }
                    made.add(connection);
                    return connection;
                });
    }

    /**
     * Limits the time of an answer, so that the client retries a server that accepts a connection and then does not
     * answer.
     */
    private <T> CompletableFuture<T> answered(Supplier<CompletableFuture<T>> question, String what) {
        return StepLimit.of(
                        question,
                        ANSWER_NANOS,
                        () -> errors.unavailable("did not answer the request to " + what + " in time", null),
                        unwanted -> {},
                        runtime)
                .exceptionally(error -> {
                    throw error instanceof LockStoreException known
                            ? known
                            : errors.of(error, what).error();
                });
    }

    /**
     * Asks the first question over a connection, with retries. A handshake with a password may end on another thread;
     * the driver then reports the connection a moment before it accepts commands.
     */
    static <T> CompletableFuture<T> first(Supplier<CompletableFuture<T>> question, LockRuntime runtime) {
        return first(question, FIRST_TRIES, runtime);
    }

    private static <T> CompletableFuture<T> first(
            Supplier<CompletableFuture<T>> question, int tries, LockRuntime runtime) {
        return question.get()
                .handle((answer, refusal) -> {
                    if (refusal == null || tries <= 1 || !RedisErrors.isNotConnected(refusal)) {
                        return refusal == null
                                ? CompletableFuture.completedFuture(answer)
                                : CompletableFuture.<T>failedFuture(refusal);
                    }
                    CompletableFuture<Void> moment = new CompletableFuture<>();
                    runtime.schedule(FIRST_PAUSE_NANOS, () -> moment.complete(null));
                    return moment.thenCompose(done -> first(question, tries - 1, runtime));
                })
                .thenCompose(next -> next);
    }

    /**
     * Makes the second connection of a link that waits for replicas; null if the link does not wait for replicas. It
     * must lead to the same life of the server as the first: both have the run id of the link.
     */
    private CompletableFuture<RedisConnection.@Nullable Acknowledging> acknowledging(
            RedisUri server, RedisConnection first, String info, List<RedisConnection> made) {
        if (!server.acknowledgement().isWanted()) {
            return CompletableFuture.completedFuture(null);
        }
        return connected(() -> driver.connect(server), made)
                .thenCompose(second -> answered(
                                () -> first(() -> second.ask(PlainCommand.waitForReplicas(0, 1)), runtime),
                                "wait for replicas (WAIT)")
                        .thenCompose(ready -> answered(() -> second.ask(PlainCommand.INFO), "read INFO"))
                        .thenApply(itsInfo -> {
                            if (!runId(itsInfo).equals(runId(info))) {
                                throw errors.unavailable("was started anew while it was connected to", null);
                            }
                            second.onEnd(first::close);
                            return second.acknowledging(server.acknowledgement());
                        }));
    }

    private static String runId(String info) {
        return InfoText.fields(info).getOrDefault("run_id", "");
    }

    private Link checked(
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
            return link;
        } catch (LockStoreException e) {
            throw e;
        } catch (RuntimeException e) {
            throw errors.unavailable("does not answer like a Redis server: " + e.getMessage(), e);
        }
    }
}
