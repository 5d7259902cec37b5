package io.leasehold.redis.topology;

import io.leasehold.LockStoreException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Finds the server that serves a key now. The server is always a master, since the data of a replica may be stale.
 *
 * <p>Safe for all threads.
 */
public interface Topology extends AutoCloseable {

    /**
     * Connects to the deployment.
     *
     * @return fails with a {@link LockStoreException} that gives the reason
     */
    CompletableFuture<Void> open();

    /** Keeps trying to connect after {@link #open} has failed. */
    void keepTrying();

    /** Registers the listener that is called when a server becomes reachable again. */
    void onReconnected(Runnable listener);

    /** The link to the server that serves this key, or null while no link exists. */
    @Nullable
    Link current(String key);

    /** The reason why no link exists, or null if it is unknown. */
    @Nullable
    LockStoreException failure(String key);

    /**
     * The links to all masters, which together serve all keys.
     *
     * @throws LockStoreException if the link to a master is missing
     */
    List<Link> everywhere();

    /** The links to the masters that are reachable now; at least one after {@link #open}. */
    List<Link> connected();

    /** The part of the deployment that serves this key. Each part has its own clock and its own lives. */
    default String part(String key) {
        return "";
    }

    /** Whether one script may use all these keys. */
    default boolean isTogether(List<String> keys) {
        return true;
    }

    /** A text that, in braces, has the same slot as the key; empty if the deployment has no slots. */
    default String slotTag(String key) {
        return "";
    }

    /** All such texts; empty if the deployment has no slots. */
    default List<String> slotTags() {
        return List.of();
    }

    /**
     * Finds the way to another server if the error of a refused request names one.
     *
     * @return null if the error is final; else a future with the detour, which may fail with a {@link
     *     LockStoreException}
     */
    @Nullable
    CompletableFuture<Detour> detour(String key, Link asked, String error);

    /**
     * The server that a refused request goes to next.
     *
     * @param asking whether the server has the slot only in part, so that {@code ASKING} must precede the request
     */
    record Detour(Link link, boolean asking) {}

    /**
     * Checks whether another server has taken over, after a script has replied that the server takes no writes. After a
     * request that was refused for this reason, {@link #detour} does the same.
     */
    void takesNoWrites(Link asked);

    /** Checks whether another server has taken over, after a request was not answered in time. */
    void unanswered(Link link);

    /** Creates the wake-ups of this client. */
    WakeUps wakeUps(WakeUps.Listener onMessage);

    /** Creates the tracking of keys, which is not started yet; for deployments with one master. */
    default Tracking tracking(Tracking.Listener listener) {
        throw new UnsupportedOperationException("toldAtOnce is for deployments with one master");
    }

    @Override
    void close();
}
