package io.leasehold.redis.topology;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A connection over which a server tells of changes to the keys that were read on it ({@code CLIENT TRACKING}). */
public interface TrackingConnection extends LiveConnection {

    /**
     * Asks to be told from now on.
     *
     * @param onChange takes the key that has changed or is gone, on the connection's thread; null if all keys may be gone. Each reading of
     *     a key is told of once
     */
    CompletableFuture<Void> track(Consumer<@Nullable String> onChange);

    /** Reads the values of keys, null for those that are not there or are no strings; their next change is told. */
    CompletableFuture<List<@Nullable String>> values(List<String> keys);
}
