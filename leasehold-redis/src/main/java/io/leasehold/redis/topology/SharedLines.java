package io.leasehold.redis.topology;

import io.leasehold.StoreUnavailableException;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.Failure;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The connections for requests that several clients share.
 *
 * <p>A client gets an existing connection only after that connection has answered: its peer may have silently gone, and
 * idle clients do not notice that. Of two connections that are made at the same moment, one is closed. Guarded by
 * {@code this}.
 */
final class SharedLines {

    /** The time limit of the answer. It is short, since a new connection is made after it. */
    private static final long ANSWER_NANOS = 1_000_000_000L;

    private final Driver driver;
    private final List<SharedLine> offered = new ArrayList<>();

    /** Creates the object; the driver makes the connections. */
    SharedLines(Driver driver) {
        this.driver = driver;
    }

    /** Makes the part of a client in an existing connection to this server or in a new one. */
    CompletableFuture<SharedConnection> connect(RedisUri server, LockRuntime runtime) {
        SharedConnection part = partOf(server);
        if (part == null) {
            return fresh(server, runtime);
        }
        return answers(part, runtime).thenCompose(lives -> {
            if (lives && part.isOpen()) {
                return CompletableFuture.completedFuture(part);
            }
            part.close();
            return fresh(server, runtime);
        });
    }

    private synchronized @Nullable SharedConnection partOf(RedisUri server) {
        offered.removeIf(line -> !line.isOffered());
        for (SharedLine line : offered) {
            SharedConnection part = line.isOfferedTo(server) ? line.joined() : null;
            if (part != null) {
                return part;
            }
        }
        return null;
    }

    /** A refusal is an answer, too; and a connection that was just made may not accept commands yet. */
    private CompletableFuture<Boolean> answers(SharedConnection part, LockRuntime runtime) {
        return StepLimit.of(
                        () -> part.ask(PlainCommand.info("server"))
                                .handle((answer, error) -> error == null
                                        || Failure.unwrapped(error) instanceof ServerRefusal
                                        || RedisErrors.isNotConnected(error)),
                        ANSWER_NANOS,
                        () -> new StoreUnavailableException("a shared connection did not answer in time", null),
                        unwanted -> {},
                        runtime)
                .exceptionally(error -> false);
    }

    private CompletableFuture<SharedConnection> fresh(RedisUri server, LockRuntime runtime) {
        return driver.connect(server).thenCompose(made -> {
            SharedLine line = SharedLine.of(server, made);
            SharedConnection part = line.joined();
            if (part == null) {
                return CompletableFuture.failedFuture(new IOException("the connection was closed"));
            }
            if (isOffered(line, server)) {
                return CompletableFuture.completedFuture(part);
            }
            part.close();
            return connect(server, runtime);
        });
    }

    /** Offers a new connection, unless another one to this server was made meanwhile. */
    private synchronized boolean isOffered(SharedLine line, RedisUri server) {
        for (SharedLine other : offered) {
            if (other.isOfferedTo(server)) {
                return false;
            }
        }
        offered.add(line);
        return true;
    }
}
