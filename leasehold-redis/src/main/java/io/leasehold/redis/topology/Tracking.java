package io.leasehold.redis.topology;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Lets the master tell this client of changes to keys that it has read, over a connection of its own. Safe for all threads. */
public interface Tracking extends AutoCloseable {

    /** The listener, on the connection's thread; each method returns at once. */
    interface Listener {
        /** The master tells from now on, of what is read from now on; what was told before may not have been heard. */
        void began();

        /** The master tells nothing for now. */
        void ended();

        /** This key has changed, or is gone; null if all may be gone. It is told of again once it is read again. */
        void changed(@Nullable String key);
    }

    /** Begins to connect. */
    void start();

    /** Reads keys, so that their next change is told; a value is null for a key that is not there or is no string. */
    CompletableFuture<List<@Nullable String>> values(List<String> keys);

    @Override
    void close();
}
