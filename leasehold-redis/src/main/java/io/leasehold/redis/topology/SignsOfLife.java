package io.leasehold.redis.topology;

import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.Failure;
import java.util.function.BooleanSupplier;

/**
 * Detects that the peer of a mostly listening connection has silently gone, with a ping every {@value #PING_SECONDS} s.
 *
 * <p>An error is also a sign of life: a server that is busy or does not permit PING has answered. The watch ends only
 * with its connection.
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
     * Starts to watch a connection.
     *
     * @param errors the errors of the node; a ping that it does not permit is an answer and causes a warning
     * @param isWanted whether the owner still uses this connection
     * @param end closes a connection after silence
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
