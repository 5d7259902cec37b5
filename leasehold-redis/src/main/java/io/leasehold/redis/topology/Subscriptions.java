package io.leasehold.redis.topology;

import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.LockRuntime;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * The one subscription of a client to a node: a {@link LastingConnection} with one channel. It is made when the first
 * waiter needs it.
 *
 * <p>While it is down, no waiter may rely on wake-ups: messages of that time are lost.
 */
final class Subscriptions implements WakeUps {

    private final String channel;
    private final LastingConnection<PushConnection> kept;

    /**
     * Creates the object; the subscription is not made yet.
     *
     * @param locator finds the address of the server before each connection
     * @param purpose the subject of the subscription, for messages
     * @param onMessage gets each message, on the connection's thread
     */
    Subscriptions(
            Driver driver,
            Connections.Locator locator,
            String channel,
            String purpose,
            RedisErrors errors,
            LockRuntime runtime,
            Consumer<String> onMessage) {
        this.channel = channel;
        this.kept = new LastingConnection<>(
                new LastingConnection.Making<>() {
                    @Override
                    public CompletableFuture<PushConnection> connect(RedisUri server) {
                        return StepLimit.ofPushes(driver, server, errors, runtime);
                    }

                    @Override
                    public CompletableFuture<Void> begin(PushConnection connection) {
                        connection.listen(onMessage::accept);
                        return connection.subscribe(channel);
                    }
                },
                locator,
                purpose,
                errors,
                runtime);
    }

    @Override
    public String channel(String lockKey) {
        return channel;
    }

    @Override
    public void onResubscribed(Runnable listener) {
        kept.onBegunAgain(listener);
    }

    @Override
    public boolean isLive(String lockKey) {
        return kept.current() != null;
    }

    @Override
    public CompletableFuture<Boolean> started(String lockKey) {
        return kept.started();
    }

    /** Closes the subscription if the server has moved: messages do not arrive at the former address. */
    void leaveUnlessStillThere() {
        kept.leaveUnlessStillThere();
    }

    /** Makes no more subscriptions; the driver closes the last one. */
    @Override
    public void close() {
        kept.close();
    }
}
