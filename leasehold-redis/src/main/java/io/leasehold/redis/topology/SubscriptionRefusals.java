package io.leasehold.redis.topology;

import io.leasehold.StoreAccessException;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.toolkit.Failure;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Explains why a connection is not subscribed, and warns once of a missing right. Safe for all threads. */
final class SubscriptionRefusals {

    private static final Logger LOG = LoggerFactory.getLogger(SubscriptionRefusals.class);

    private final String purpose;
    private final RedisErrors errors;
    private final AtomicBoolean told = new AtomicBoolean();

    SubscriptionRefusals(String purpose, RedisErrors errors) {
        this.purpose = purpose;
        this.errors = errors;
    }

    Failure of(Throwable error) {
        Failure failure = errors.of(error, "subscribe to " + purpose);
        if (failure.error() instanceof StoreAccessException) {
            warn(failure);
        }
        return failure;
    }

    /** Warns once, even if the reason is not a missing right. */
    void warn(Failure failure) {
        if (told.compareAndSet(false, true)) {
            LOG.warn(
                    "not subscribed to {}; the client asks periodically instead: {}",
                    purpose,
                    failure.error().getMessage());
        }
    }
}
