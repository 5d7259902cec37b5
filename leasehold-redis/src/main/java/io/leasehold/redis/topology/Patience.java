package io.leasehold.redis.topology;

import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.LockRuntime;
import java.util.concurrent.CompletableFuture;

/** A limit for connections that may never come: their credentials are asked for, and the driver's limit begins after that. */
final class Patience {

    private static final long CONNECT_NANOS = 3_000_000_000L;

    private Patience() {}

    /** The same connection; fails when it does not come in time, and then ends it should it come later. */
    static CompletableFuture<PushConnection> limited(
            CompletableFuture<PushConnection> connecting, RedisErrors errors, LockRuntime runtime) {
        CompletableFuture<PushConnection> limited = new CompletableFuture<>();
        LockRuntime.Timer patience = runtime.schedule(
                CONNECT_NANOS,
                () -> limited.completeExceptionally(errors.unavailable("could not be connected to in time", null)));
        connecting.whenComplete((connection, error) -> {
            patience.cancel();
            if (error != null) {
                limited.completeExceptionally(error);
            } else if (!limited.complete(connection)) {
                connection.close();
            }
        });
        return limited;
    }
}
