package io.leasehold.redis.topology;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Lets the master report changes to keys that this client has read, over a separate connection. Safe for all threads.
 */
public interface Tracking extends AutoCloseable {

    /** The listener. It is called on the connection's thread; each method returns at once. */
    interface Listener {
        /**
         * Notes that the master reports changes to keys that are read from now on. Earlier reports may have been lost.
         */
        void began();

        /** Notes that the master reports nothing for now. */
        void ended();

        /**
         * Notes that this key has changed or was deleted; null if all keys may be gone. The master reports the key
         * again only after the next reading.
         */
        void changed(@Nullable String key);
    }

    /** Starts to connect. */
    void start();

    /**
     * Reads keys, so that the master reports their next change. The value is null for a key that does not exist or is
     * not a string.
     */
    CompletableFuture<List<@Nullable String>> values(List<String> keys);

    @Override
    void close();
}
