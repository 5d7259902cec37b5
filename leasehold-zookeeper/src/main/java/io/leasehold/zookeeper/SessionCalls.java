package io.leasehold.zookeeper;

import java.io.IOException;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Watcher;

/**
 * The calls of one session to its ensemble. Each call returns at once; its future fails with a
 * {@link org.apache.zookeeper.KeeperException}. The ensemble executes the calls in their order.
 *
 * <p>An implementation is safe for use by any thread.
 */
interface SessionCalls {

    /** Opens sessions. */
    interface Opener {
        /**
         * Opens a session and starts to connect.
         *
         * @param askedMillis the session timeout to request
         * @param events receives the events of the session and of watched nodes, one at a time
         */
        SessionCalls open(int askedMillis, Watcher events) throws IOException;
    }

    /** A node that was created. */
    record Created(String path, long czxid) {}

    /** A node that was read; its session is 0 if it belongs to none. */
    @SuppressWarnings("ArrayRecordComponent") // Read once, and never compared.
    record Node(byte[] data, long czxid, long session) {}

    /** The id of the session; 0 before it is connected. */
    long id();

    /** The session timeout that the ensemble granted at the last connection. */
    int timeoutMillis();

    CompletableFuture<Created> create(String path, byte[] data, CreateMode mode);

    CompletableFuture<List<String>> children(String path);

    /** Lets the member catch up with the leader. */
    CompletableFuture<Void> sync(String path);

    /** Reads a node. With a watch, the next event of the node is reported if the node exists. */
    CompletableFuture<Node> read(String path, boolean watch);

    /** Replaces the data of a node that has this version. */
    CompletableFuture<Void> write(String path, byte[] data, int version);

    CompletableFuture<Void> delete(String path);

    /**
     * The index of the first of these nodes that does not exist, by an exchange that reaches the leader and a quorum.
     */
    CompletableFuture<OptionalInt> firstMissing(List<String> paths);

    /** Ends the session; completes when the ensemble has answered, or after this time. */
    CompletableFuture<?> close(int patienceMillis);
}
