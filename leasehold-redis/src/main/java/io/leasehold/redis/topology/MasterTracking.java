package io.leasehold.redis.topology;

import io.leasehold.StoreAccessException;
import io.leasehold.redis.wire.NotSentException;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.Failure;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** The tracking of keys over a {@link LastingConnection} to the one master. */
final class MasterTracking implements Tracking {

    /**
     * The number of failures that counts as a refusal: some servers close the connection in place of an error for
     * {@code HELLO}. Counts only while the link is live.
     */
    private static final int IN_A_ROW = 4;

    private final LastingConnection<TrackingConnection> kept;
    private final RedisErrors errors;

    /**
     * Creates the object; nothing is connected yet.
     *
     * @param isLinked whether the link for requests is live
     */
    MasterTracking(
            Driver driver,
            Connections.Locator locator,
            BooleanSupplier isLinked,
            RedisErrors errors,
            LockRuntime runtime,
            Listener listener) {
        this.errors = errors;
        this.kept = new LastingConnection<>(
                new LastingConnection.Making<>() {
                    @Override
                    public CompletableFuture<TrackingConnection> connect(RedisUri server) {
                        return StepLimit.ofTracking(driver, server, errors, runtime);
                    }

                    @Override
                    public CompletableFuture<Void> begin(TrackingConnection connection) {
                        return connection.track(listener::changed);
                    }

                    @Override
                    public boolean isRefusal(Failure failure, int before) {
                        boolean saysSo = failure.kind() == FailureKind.PERMANENT
                                && !(failure.error() instanceof StoreAccessException);
                        return saysSo || (before >= IN_A_ROW && isLinked.getAsBoolean());
                    }
                },
                locator,
                "changes of held locks",
                errors,
                runtime);
        kept.onBegun(listener::began);
        kept.onEnded(listener::ended);
    }

    @Override
    public void start() {
        kept.started();
    }

    @Override
    public CompletableFuture<List<@Nullable String>> values(List<String> keys) {
        TrackingConnection connection = kept.current();
        if (connection == null) {
            return CompletableFuture.failedFuture(new NotSentException("not connected", null));
        }
        return connection.values(keys).whenComplete((values, error) -> {
            if (error != null && Failure.unwrapped(error) instanceof ServerRefusal refusal) {
                errors.warnOnce(String.valueOf(refusal.getMessage()), "read held locks");
            }
        });
    }

    /**
     * Leaves the server, since a new link was made: the same name may lead to another server now, while the former one
     * still answers.
     */
    void leave() {
        kept.leave();
    }

    @Override
    public void close() {
        kept.close();
    }
}
