package io.leasehold.zookeeper;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.List;
import org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.zookeeper.server.ServerCnxn;
import org.apache.zookeeper.server.ServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;

/** A server of one member in this process. A test can end its sessions and count its packets. */
final class Member implements AutoCloseable {

    private final ZooKeeperServer server;
    private final ServerCnxnFactory connections;

    Member(Path directory) {
        this(directory, Ensemble.TICK_MILLIS);
    }

    Member(Path directory, int tickMillis) {
        try {
            server = new ZooKeeperServer(directory.toFile(), directory.toFile(), tickMillis);
            server.setMaxSessionTimeout(3_600_000);
            connections = new NIOServerCnxnFactory();
            connections.configure(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 100);
            connections.startup(server);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    String uri(String options) {
        return Ensemble.uri("127.0.0.1:" + connections.getLocalPort(), server.getTickTime(), options);
    }

    /** Makes new sessions at least this long. */
    void leastSession(int millis) {
        server.setMinSessionTimeout(millis);
    }

    /** Makes sessions no longer than this, including sessions that connect again. */
    void mostSession(int millis) {
        server.setMaxSessionTimeout(millis);
    }

    /** How often the children of a node have changed. */
    int changesBelow(String path) {
        try {
            return server.getZKDatabase().statNode(path, null).getCversion();
        } catch (org.apache.zookeeper.KeeperException.NoNodeException e) {
            throw new AssertionError("no node " + path, e);
        }
    }

    int port() {
        return connections.getLocalPort();
    }

    /** All packets that came from clients. */
    long packets() {
        return server.serverStats().getPacketsReceived();
    }

    /** All transactions so far. */
    long transactions() {
        return server.getZKDatabase().getDataTreeLastProcessedZxid();
    }

    long sessions() {
        return server.getZKDatabase().getSessionCount();
    }

    /** How many pairs of a session and a node are watched. */
    int watches() {
        return server.getZKDatabase().getDataTree().getWatchCount();
    }

    List<String> children(String path) {
        try {
            return List.copyOf(server.getZKDatabase().getChildren(path, null, null));
        } catch (org.apache.zookeeper.KeeperException.NoNodeException e) {
            return List.of();
        }
    }

    /** Ends the session that made this node, as its expiry would. */
    void killSessionOf(String path) {
        try {
            server.closeSession(server.getZKDatabase().statNode(path, null).getEphemeralOwner());
        } catch (org.apache.zookeeper.KeeperException.NoNodeException e) {
            throw new AssertionError("no node " + path, e);
        }
    }

    /** Ends every session but the one that made this node, as their expiry would. */
    void killSessionsButThatOf(String path) {
        try {
            long kept = server.getZKDatabase().statNode(path, null).getEphemeralOwner();
            for (long session :
                    List.copyOf(server.getZKDatabase().getSessionWithTimeOuts().keySet())) {
                if (session != kept) {
                    server.closeSession(session);
                }
            }
        } catch (org.apache.zookeeper.KeeperException.NoNodeException e) {
            throw new AssertionError("no node " + path, e);
        }
    }

    /** Cuts all connections of clients; their sessions live on. */
    void cutConnections() {
        connections.closeAll(ServerCnxn.DisconnectReason.CONNECTION_CLOSE_FORCED);
    }

    @Override
    public void close() {
        connections.shutdown();
        server.shutdown();
    }
}
