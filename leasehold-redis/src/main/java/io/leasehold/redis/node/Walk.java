package io.leasehold.redis.node;

import java.util.function.LongConsumer;

/** Who wants to know how far walks over the keys have come. Any thread may use it. */
final class Walk {

    private volatile LongConsumer listener = seen -> {};

    void onProgress(LongConsumer seen) {
        listener = seen;
    }

    void seen(long keys) {
        listener.accept(keys);
    }
}
