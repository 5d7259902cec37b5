package io.leasehold.zookeeper;

import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.jspecify.annotations.Nullable;

/** The nodes of the model of an ensemble. */
final class ZnodeTree {

    private final Map<String, SessionCalls.Node> nodes = new TreeMap<>();
    private final Map<String, Integer> sequences = new HashMap<>();
    private long zxid = 1;

    SessionCalls.@Nullable Node find(String path) {
        return nodes.get(path);
    }

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
                .toList();
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
        return new SessionCalls.Created(path, zxid);
    }

    /** Whether it was there. */
    boolean remove(String path) {
        boolean was = nodes.remove(path) != null;
        zxid += was ? 1 : 0;
        return was;
    }

    /** The nodes that go with this session. */
    List<String> of(long session) {
        return paths(node -> node.session() == session);
    }

    /** The nodes that go with some session. */
    List<String> ephemeral() {
        return paths(node -> node.session() != 0);
    }

    private List<String> paths(Predicate<SessionCalls.Node> which) {
        return nodes.entrySet().stream()
                .filter(node -> which.test(node.getValue()))
                .map(Map.Entry::getKey)
                .toList();
    }
}
