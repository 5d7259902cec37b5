package io.leasehold.zookeeper;

import java.io.IOException;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Watcher;

/**
 * The calls of one session to its ensemble. Each one returns at once; its future fails with a
 * {@link org.apache.zookeeper.KeeperException}. The ensemble carries them out in their order.
 *
 * <p>An implementation is safe for use by any thread.
 */
interface SessionCalls {

    /** Begins sessions. */
    interface Opener {
        /**
         * Begins to connect.
         *
         * @param askedMillis the session timeout to ask for
         * @param events hears of the session and of watched nodes, one event at a time
         */
        SessionCalls open(int askedMillis, Watcher events) throws IOException;
    }

    /** A node that was made. */
    record Created(String path, long czxid) {}

    /** A node that was read; its session is 0 if it stays without one. */
    @SuppressWarnings("ArrayRecordComponent") // Read once, and compared by nobody.
    record Node(byte[] data, long czxid, long session) {}

    /** The number of the session, 0 before it is connected. */
    long id();

    /** The session timeout that the ensemble granted at the last connection. */
    int timeoutMillis();

    CompletableFuture<Created> create(String path, byte[] data, CreateMode mode);

    CompletableFuture<List<String>> children(String path);

    /** Lets the member catch up with the leader. */
    CompletableFuture<Void> sync(String path);

    /** Reads a node; with a watch, its next event is told if it is there. */
    CompletableFuture<Node> read(String path, boolean watch);

    CompletableFuture<Void> delete(String path);

    /** The first of these that is not there, by an exchange that reaches the leader and a quorum. */
    CompletableFuture<OptionalInt> firstMissing(List<String> paths);

    /** Ends the session; completes when the ensemble has answered, or after so long. */
    CompletableFuture<?> close(int patienceMillis);
}
