package io.leasehold.zookeeper;

import io.leasehold.spi.toolkit.TokenBase;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher;
import org.jspecify.annotations.Nullable;

/** The nodes of the model of an ensemble. */
final class ZnodeTree {

    /** The number of views that are kept: some seconds of a run. */
    private static final int KEPT = 40;

    private final Map<String, SessionCalls.Node> nodes = new TreeMap<>();
    private final Map<String, Change> changes = new HashMap<>();
    private final Map<String, Integer> sequences = new HashMap<>();
    private final TreeMap<Long, View> views = new TreeMap<>();
    private long zxid = 1;

    /** The last change of a node's data: the version after it, and the transaction. */
    private record Change(int version, long zxid) {}

    /** The nodes as of one transaction: the state that a member shows. */
    record View(long zxid, Map<String, SessionCalls.Node> nodes) {

        SessionCalls.Node require(String path) throws KeeperException {
            SessionCalls.Node node = nodes.get(path);
            if (node == null) {
                throw KeeperException.create(KeeperException.Code.NONODE, path);
            }
            return node;
        }

        List<String> childrenOf(String path) {
            String prefix = path + "/";
            return nodes.keySet().stream()
                    .filter(node -> node.startsWith(prefix) && node.indexOf('/', prefix.length()) < 0)
                    .map(node -> node.substring(prefix.length()))
                    .sorted()
                    .toList();
        }
    }

    ZnodeTree() {
        views.put(zxid, new View(zxid, Map.of()));
    }

    /** The current state. */
    View now() {
        return views.lastEntry().getValue();
    }

    /** The state as of this transaction, or the last one before it. */
    View asOf(long transaction) {
        return views.floorEntry(transaction).getValue();
    }

    /** Counts a transaction that changes no node. */
    void pass() {
        zxid++;
        keep();
    }

    private void keep() {
        views.put(zxid, new View(zxid, Map.copyOf(nodes)));
        if (views.size() > KEPT) {
            views.pollFirstEntry();
        }
    }

    /** The oldest transaction whose state is known. */
    long oldest() {
        return views.firstKey();
    }

    SessionCalls.@Nullable Node find(String path) {
        return nodes.get(path);
    }

    SessionCalls.Node require(String path) throws KeeperException {
        return now().require(path);
    }

    List<String> childrenOf(String path) {
        return now().childrenOf(path);
    }

    SessionCalls.Created create(String asked, byte[] data, CreateMode mode, long session) throws KeeperException {
        String parent = asked.substring(0, asked.lastIndexOf('/'));
        if (!parent.isEmpty()) {
            require(parent);
        }
        String path = asked;
        if (mode.isSequential()) {
            int next = sequences.merge(parent, 1, Integer::sum) - 1;
            path = asked + String.format(Locale.ROOT, "%010d", next);
        }
        if (nodes.containsKey(path)) {
            throw KeeperException.create(KeeperException.Code.NODEEXISTS, path);
        }
        nodes.put(path, new SessionCalls.Node(data, ++zxid, mode.isEphemeral() ? session : 0));
        keep();
        return new SessionCalls.Created(path, zxid);
    }

    /** Replaces the data of a node that has this version. */
    void write(String path, byte[] data, int version) throws KeeperException {
        SessionCalls.Node node = require(path);
        Change last = changes.getOrDefault(path, new Change(0, 0));
        if (last.version() != version) {
            throw failure(KeeperException.Code.BADVERSION, path);
        }
        nodes.put(path, new SessionCalls.Node(data, node.czxid(), node.session()));
        changes.put(path, new Change(version + 1, ++zxid));
        keep();
    }

    /** The event that a client has missed that has seen the node as of this transaction, or null. */
    Watcher.Event.@Nullable EventType missed(String path, long seen) {
        if (find(path) == null) {
            return Watcher.Event.EventType.NodeDeleted;
        }
        boolean isChanged = changes.getOrDefault(path, new Change(0, 0)).zxid() > seen;
        return isChanged ? Watcher.Event.EventType.NodeDataChanged : null;
    }

    /** The node that holds with this token: the first in the queue of a lock, or one of the first if these are readers'. */
    Optional<SessionCalls.Node> holder(String lock, TokenBase tokens, long token) {
        List<SessionCalls.Node> queue = Znodes.inOrder(childrenOf(lock)).stream()
                .map(name -> Objects.requireNonNull(find(lock + "/" + name)))
                .toList();
        List<SessionCalls.Node> readers =
                queue.stream().takeWhile(QueueHeads::isReader).toList();
        return (readers.isEmpty() ? queue.stream().limit(1) : readers.stream())
                .filter(node -> tokens.token(node.czxid(), QueueHeads.data(node).generation()) == token)
                .findFirst();
    }

    /** Removes a node; returns whether it existed. */
    boolean remove(String path) {
        boolean was = nodes.remove(path) != null;
        if (was) {
            pass();
        }
        return was;
    }

    /** The nodes that end with this session. */
    List<String> of(long session) {
        return paths(node -> node.session() == session);
    }

    /** The nodes that end with any session. */
    List<String> ephemeral() {
        return paths(node -> node.session() != 0);
    }

    private List<String> paths(Predicate<SessionCalls.Node> which) {
        return nodes.entrySet().stream()
                .filter(node -> which.test(node.getValue()))
                .map(Map.Entry::getKey)
                .toList();
    }

    static KeeperException failure(KeeperException.Code code, String path) {
        return KeeperException.create(code, path);
    }
}
