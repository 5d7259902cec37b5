package io.leasehold.redis.topology;

import io.leasehold.StoreUnavailableException;
import io.leasehold.redis.wire.PlainCommand;
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
 * idle clients do not notice that. A new connection is offered to further clients only after its first answer, so that
 * no client waits for the hanging try of another client, or of its own. Of two connections that answer at the same
 * moment, one is closed. Guarded by {@code this}.
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

    /** A client that wants a connection. */
    interface Client {
        /** The runtime of this client. */
        LockRuntime runtime();

        /** Notes a part, which ends with this client at the latest; at once if the client has closed. */
        void has(SharedConnection part);

        /** Whether this client has not closed. */
        boolean isOpen();
    }

    /**
     * Makes the part of a client in an existing connection to this server or in a new one. A new one that does not
     * answer in time is not shared.
     */
    CompletableFuture<SharedConnection> connect(RedisUri server, Client client) {
        SharedConnection part = partOf(server);
        if (part == null) {
            return fresh(server, client);
        }
        client.has(part);
        return answers(part, client.runtime()).thenCompose(lives -> {
            if (lives && part.isOpen()) {
                return CompletableFuture.completedFuture(part);
            }
            part.close();
            return fresh(server, client);
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

    /** A refusal is an answer, too. */
    private static CompletableFuture<Boolean> answers(SharedConnection part, LockRuntime runtime) {
        return StepLimit.of(
                        () -> Handshake.first(() -> part.ask(PlainCommand.info("server")), runtime),
                        ANSWER_NANOS,
                        () -> new StoreUnavailableException("a shared connection did not answer in time", null),
                        unwanted -> {},
                        runtime)
                .handle((answer, error) -> error == null || Failure.unwrapped(error) instanceof ServerRefusal);
    }

    private CompletableFuture<SharedConnection> fresh(RedisUri server, Client client) {
        if (!client.isOpen()) {
            return CompletableFuture.failedFuture(new IOException("the client was closed"));
        }
        return driver.connect(server).thenCompose(made -> {
            SharedLine line = SharedLine.of(server, made);
            SharedConnection part = line.joined();
            if (part == null) {
                // A driver keeps a connection that ended by itself until it is closed.
                made.close();
                return CompletableFuture.failedFuture(new IOException("the connection was closed"));
            }
            client.has(part);
            return answers(part, client.runtime()).thenCompose(lives -> {
                if (!lives || isOffered(line, server)) {
                    // Without an answer, the client's own question to it fails with the reason.
                    return CompletableFuture.completedFuture(part);
                }
                part.giveBack();
                return connect(server, client);
            });
        });
    }

    /** Offers a new connection that has answered, unless another one to this server is offered. */
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
