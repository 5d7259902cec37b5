package io.leasehold.redis.node;

import java.util.function.LongConsumer;

/** The listener to the progress of scans over the keys. Safe for all threads. */
final class Walk {

    private volatile LongConsumer listener = seen -> {};

    void onProgress(LongConsumer seen) {
        listener = seen;
    }

    void seen(long keys) {
        listener.accept(keys);
    }
}
