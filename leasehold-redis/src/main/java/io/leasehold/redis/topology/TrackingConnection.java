package io.leasehold.redis.topology;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A connection on which a server reports changes to the keys that were read on it ({@code CLIENT TRACKING}). */
public interface TrackingConnection extends LiveConnection {

    /**
     * Requests the reports from now on.
     *
     * @param onChange gets the key that has changed or was deleted, on the connection's thread; null if all keys may be
     *     gone. The server reports once per reading of a key
     */
    CompletableFuture<Void> track(Consumer<@Nullable String> onChange);

    /**
     * Reads the values of keys, null for a key that does not exist or is not a string. The server reports their next
     * change.
     */
    CompletableFuture<List<@Nullable String>> values(List<String> keys);
}
