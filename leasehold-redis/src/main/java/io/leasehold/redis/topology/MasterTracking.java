package io.leasehold.redis.topology;

import io.leasehold.redis.wire.NotSentException;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.LockRuntime;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Over a {@link LastingConnection} to the one master. */
final class MasterTracking implements Tracking {

    private final LastingConnection<TrackingConnection> kept;

    /** Nothing is connected yet. */
    MasterTracking(
            Driver driver, Connections.Locator locator, RedisErrors errors, LockRuntime runtime, Listener listener) {
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
        return connection != null
                ? connection.values(keys)
                : CompletableFuture.failedFuture(new NotSentException("not connected", null));
    }

    /** There is a new link: behind the same name there may be another server, while the former one still answers. */
    void leave() {
        kept.leave();
    }

    @Override
    public void close() {
        kept.close();
    }
}
