package io.leasehold.redis.topology;

import io.leasehold.LockStoreException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Leads each key to the server that serves it now, and only ever to a master: what a replica says may be old.
 *
 * <p>Safe for all threads.
 */
public interface Topology extends AutoCloseable {

    /**
     * Connects.
     *
     * @return fails with a {@link LockStoreException} that says why that cannot be
     */
    CompletableFuture<Void> open();

    /** After {@link #open} has failed: goes on trying. */
    void keepTrying();

    /** Registers the listener for a server that can be reached again. */
    void onReconnected(Runnable listener);

    /** The link to the server that serves this key, or null while there is none. */
    @Nullable
    Link current(String key);

    /** Why there is none, if that is known. */
    @Nullable
    LockStoreException failure(String key);

    /**
     * Links to all masters, each key being served by one of them.
     *
     * @throws LockStoreException if one of them is missing
     */
    List<Link> everywhere();

    /** Links to the masters that can be reached now, at least one of them after {@link #open}. */
    List<Link> connected();

    /** The part that serves this key: parts have clocks and lives of their own. */
    default String part(String key) {
        return "";
    }

    /** Whether one script may name all these keys. */
    default boolean isTogether(List<String> keys) {
        return true;
    }

    /** A text that shares its slot with the key, if it stands in braces; empty where there are no slots. */
    default String slotTag(String key) {
        return "";
    }

    /** All such texts; empty where there are no slots. */
    default List<String> slotTags() {
        return List.of();
    }

    /**
     * A server refused a request with an error. If that says where it belongs, the way there.
     *
     * @return null if the error stands; else fails with a {@link LockStoreException}, or leads on
     */
    @Nullable
    CompletableFuture<Detour> detour(String key, Link asked, String error);

    /**
     * Where a request is to be sent instead.
     *
     * @param asking whether the server has the slot only in part, and has to be told that we know
     */
    record Detour(Link link, boolean asking) {}

    /** A request was not answered in time: looks whether another server has taken over. */
    void unanswered(Link link);

    /** The pushes to this client. */
    WakeUps wakeUps(Consumer<String> onMessage);

    /** The tracking of keys, which is not begun yet; for a deployment with one master. */
    default Tracking tracking(Tracking.Listener listener) {
        throw new UnsupportedOperationException("toldAtOnce is for deployments with one master");
    }

    @Override
    void close();
}
