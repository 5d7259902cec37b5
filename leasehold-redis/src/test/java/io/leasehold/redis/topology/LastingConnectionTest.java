package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.SteppedRuntime;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A connection that lasts is made again, whatever ended the try before. */
@Tag("quick")
final class LastingConnectionTest {

    private int located;

    /** A full thread pool or too little memory, for example. */
    private CompletableFuture<RedisUri> locate() {
        located++;
        if (located <= 2) {
            throw new IllegalStateException("not now");
        }
        return new CompletableFuture<>();
    }

    @Test
    void aLocatorThatThrowsIsAskedAgain() {
        Deployment where = Deployment.parse(StoreUri.parse("redis://a"));
        RedisErrors errors = where.errors();
        SteppedRuntime runtime = new SteppedRuntime(new SystemLockRuntime());
        LastingConnection<PushConnection> connection = new LastingConnection<>(
                new LastingConnection.Making<>() {
                    @Override
                    public CompletableFuture<PushConnection> connect(RedisUri server) {
                        return new CompletableFuture<>();
                    }

                    @Override
                    public CompletableFuture<Void> begin(PushConnection made) {
                        return new CompletableFuture<>();
                    }
                },
                this::locate,
                "wake-ups",
                errors,
                runtime);
        try {
            CompletableFuture<Boolean> first = connection.started();
            assertThat(first).isCompletedWithValue(false);
            assertThat(located).isOne();
            runtime.advance(Duration.ofSeconds(1));
            assertThat(located).isEqualTo(3);
        } finally {
            connection.close();
            runtime.close();
        }
    }
}
