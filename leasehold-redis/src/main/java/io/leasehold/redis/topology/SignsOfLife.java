package io.leasehold.redis.topology;

import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.Failure;
import java.util.function.BooleanSupplier;

/**
 * Finds out that the peer of a connection that mostly listens is gone without a word, by a ping every {@value #PING_SECONDS} s.
 *
 * <p>An error is a sign of life as well: a server that is busy, or that does not permit PING, has answered. The watch ends with its
 * connection and not before.
 */
final class SignsOfLife {

    private static final long PING_SECONDS = 5;
    private static final long PING_NANOS = PING_SECONDS * 1_000_000_000L;

    private final LiveConnection connection;
    private final LockRuntime runtime;
    private final RedisErrors errors;
    private final BooleanSupplier isWanted;
    private final Runnable end;

    private SignsOfLife(
            LiveConnection connection,
            LockRuntime runtime,
            RedisErrors errors,
            BooleanSupplier isWanted,
            Runnable end) {
        this.errors = errors;
        this.connection = connection;
        this.runtime = runtime;
        this.isWanted = isWanted;
        this.end = end;
    }

    /**
     * Begins to watch.
     *
     * @param errors of the node: a ping that it does not allow is an answer, and warned of
     * @param isWanted whether this is still the connection of its owner
     * @param end ends a connection from which nothing is heard
     */
    static void watch(
            LiveConnection connection,
            LockRuntime runtime,
            RedisErrors errors,
            BooleanSupplier isWanted,
            Runnable end) {
        new SignsOfLife(connection, runtime, errors, isWanted, end).later();
    }

    private void later() {
        runtime.schedule(PING_NANOS, this::ping);
    }

    private void ping() {
        if (!isWanted.getAsBoolean() || !connection.isOpen()) {
            return;
        }
        LockRuntime.Timer patience = runtime.schedule(PING_NANOS, end);
        connection.ping().whenComplete((pong, error) -> {
            patience.cancel();
            if (error != null && Failure.unwrapped(error) instanceof ServerRefusal refusal) {
                errors.warnOnce(String.valueOf(refusal.getMessage()), "ping the connection for wake-ups");
                later();
            } else if (error == null) {
                later();
            } else {
                end.run();
            }
        });
    }
}
