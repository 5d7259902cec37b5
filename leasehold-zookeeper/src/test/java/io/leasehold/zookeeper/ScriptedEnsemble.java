package io.leasehold.zookeeper;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;

/**
 * An ensemble in the time of the test, on one thread. It notes each request, and answers at once, later or not at all,
 * as the test says. So each rule of a place is checked within milliseconds. The tests with servers check whether real
 * members answer in the same way.
 */
final class ScriptedEnsemble implements SessionCalls.Opener {

    private record Withheld(String verb, Runnable answer) {}

    /** The requests, in their order: the verb, and for nodes the last part of the path. */
    final List<String> asked = new ArrayList<>();

    final List<Client> clients = new ArrayList<>();
    final Map<String, SessionCalls.Node> nodes = new TreeMap<>();
    /** The mode in which each node of its clients was made. */
    final Map<String, CreateMode> modes = new HashMap<>();
    /** The largest session timeout that it grants. */
    int longestMillis = Integer.MAX_VALUE;

    long zxid = 100;
    /** Sessions that are opened are connected when the test says so. */
    boolean connectsLater;
    /** A new node is gone again before the queue is read. */
    boolean keepsNoNode;

    /** The node of the lock is gone again before one is made below it. */
    boolean keepsNoLock;
    /** The number of sessions that cannot be ended, because no thread can be started for it. */
    int failsToClose;
    /** Delays the answer to the end of a session; never for longer than its client waits. */
    CompletableFuture<Void> toClose = CompletableFuture.completedFuture(null);

    private final Map<String, Integer> sequences = new HashMap<>();
    private final Map<String, Integer> versions = new HashMap<>();
    private final Map<String, Deque<KeeperException.Code>> failures = new HashMap<>();
    private final Map<String, Deque<Throwable>> thrown = new HashMap<>();
    private final Set<String> lost = new HashSet<>();
    private final List<String> silent = new ArrayList<>();
    private final List<Withheld> withheld = new ArrayList<>();

    /** The next call of this verb fails with this code, and has no effect. */
    void failNext(String verb, KeeperException.Code code) {
        failures.computeIfAbsent(verb, any -> new ArrayDeque<>()).add(code);
    }

    /** The next call of this verb throws this, and returns nothing. */
    void throwNext(String verb, Throwable error) {
        thrown.computeIfAbsent(verb, any -> new ArrayDeque<>()).add(error);
    }

    /** The next call of this verb has its effect, and its answer is lost. */
    void loseNext(String verb) {
        lost.add(verb);
    }

    /** Calls of this verb have their effect, and are answered when the test says so. */
    void withhold(String verb) {
        silent.add(verb);
    }

    void answer(String verb) {
        silent.remove(verb);
        List<Withheld> due =
                withheld.stream().filter(one -> one.verb().equals(verb)).toList();
        withheld.removeAll(due);
        due.forEach(one -> one.answer().run());
    }

    List<String> askedSince(int mark) {
        return List.copyOf(asked.subList(mark, asked.size()));
    }

    @Override
    public SessionCalls open(int askedMillis, Watcher events) {
        asked.add("open " + askedMillis);
        Client client = new Client(clients.size() + 1, askedMillis, events);
        clients.add(client);
        return client;
    }

    /** Connects the sessions that are not connected yet, as their driver does after a moment. */
    void connect() {
        for (Client client : List.copyOf(clients)) {
            if (!client.begun) {
                client.begun = true;
                client.state(Watcher.Event.KeeperState.SyncConnected);
            }
        }
    }

    /** Makes the node of another client, or of an operator; a node without a session stays. */
    void put(String path, String data, long session) {
        nodes.put(path, new SessionCalls.Node(data.getBytes(java.nio.charset.StandardCharsets.UTF_8), ++zxid, session));
    }

    /** Makes the next node of a queue, for another client. */
    String enqueue(String lock, String id, String holder, long session) {
        int next = sequences.merge(lock, 1, Integer::sum) - 1;
        String path = lock + "/_c_" + id + "-lock-" + String.format(Locale.ROOT, "%010d", next);
        put(path, holder, session);
        return path;
    }

    /** Removes a node, and notifies the clients that watch it. */
    void remove(String path) {
        if (nodes.remove(path) != null) {
            zxid++;
            event(path, Watcher.Event.EventType.NodeDeleted);
        }
    }

    /** Removes a node without a notification. */
    void removeUnheard(String path) {
        nodes.remove(path);
    }

    void event(String path, Watcher.Event.EventType type) {
        for (Client client : List.copyOf(clients)) {
            if (client.watched.remove(path)) {
                client.events.process(new WatchedEvent(type, Watcher.Event.KeeperState.SyncConnected, path));
            }
        }
    }

    List<String> queue(String lock) {
        return childrenOf(lock).stream().sorted().toList();
    }

    private List<String> childrenOf(String path) {
        String prefix = path + "/";
        return nodes.keySet().stream()
                .filter(node -> node.startsWith(prefix) && node.indexOf('/', prefix.length()) < 0)
                .map(node -> node.substring(prefix.length()))
                .toList();
    }

    private SessionCalls.Node require(String path) throws KeeperException {
        SessionCalls.Node node = nodes.get(path);
        if (node == null) {
            throw KeeperException.create(KeeperException.Code.NONODE, path);
        }
        return node;
    }

    private void throwIfDue(String verb) {
        Deque<Throwable> due = thrown.get(verb);
        if (due == null || due.isEmpty()) {
            return;
        }
        if (due.peek() instanceof Error) {
            throw (Error) due.remove();
        }
        throw (RuntimeException) due.remove();
    }

    private <T> CompletableFuture<T> call(String verb, String path, Callable<T> work) {
        asked.add(path.isEmpty() ? verb : verb + " " + path.substring(path.lastIndexOf('/') + 1));
        throwIfDue(verb);
        Deque<KeeperException.Code> due = failures.get(verb);
        if (due != null && !due.isEmpty()) {
            return CompletableFuture.failedFuture(KeeperException.create(due.poll(), path));
        }
        CompletableFuture<T> reply = new CompletableFuture<>();
        Runnable answer;
        try {
            T value = work.call();
            answer = () -> reply.complete(value);
        } catch (Exception e) {
            answer = () -> reply.completeExceptionally(e);
        }
        if (lost.remove(verb)) {
            return CompletableFuture.failedFuture(KeeperException.create(KeeperException.Code.CONNECTIONLOSS, path));
        }
        if (silent.contains(verb)) {
            withheld.add(new Withheld(verb, answer));
        } else {
            answer.run();
        }
        return reply;
    }

    /** One session, as its driver keeps it. */
    final class Client implements SessionCalls {
        final int askedMillis;
        final Set<String> watched = new HashSet<>();
        final Watcher events;
        boolean begun;
        boolean closed;
        int patienceMillis;
        private final long id;

        Client(long id, int askedMillis, Watcher events) {
            this.id = id;
            this.askedMillis = askedMillis;
            this.events = events;
        }

        void state(Watcher.Event.KeeperState state) {
            events.process(new WatchedEvent(Watcher.Event.EventType.None, state, null));
        }

        /** Removes its nodes first, and then notifies it. */
        void expire() {
            nodes.entrySet().stream()
                    .filter(node -> node.getValue().session() == id)
                    .map(Map.Entry::getKey)
                    .toList()
                    .forEach(ScriptedEnsemble.this::remove);
            state(Watcher.Event.KeeperState.Expired);
        }

        @Override
        public long id() {
            return id;
        }

        @Override
        public int timeoutMillis() {
            return Math.min(askedMillis, longestMillis);
        }

        @Override
        public CompletableFuture<Created> create(String asked, byte[] data, CreateMode mode) {
            return call("create", asked, () -> {
                String parent = asked.substring(0, asked.lastIndexOf('/'));
                if (mode.isSequential() && keepsNoLock) {
                    throw KeeperException.create(KeeperException.Code.NONODE, asked);
                }
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
                zxid++;
                modes.put(path, mode);
                if (!mode.isSequential() || !keepsNoNode) {
                    nodes.put(path, new Node(data, zxid, mode.isEphemeral() ? id : 0));
                }
                return new Created(path, zxid);
            });
        }

        @Override
        public CompletableFuture<List<String>> children(String path) {
            return call("children", path, () -> {
                require(path);
                return childrenOf(path);
            });
        }

        @Override
        public CompletableFuture<Void> sync(String path) {
            return call("sync", path, () -> null);
        }

        @Override
        public CompletableFuture<Node> read(String path, boolean watch) {
            return call(watch ? "watch" : "read", path, () -> {
                Node node = require(path);
                if (watch) {
                    watched.add(path);
                }
                return node;
            });
        }

        @Override
        public CompletableFuture<Void> write(String path, byte[] data, int version) {
            return call("write", path, () -> {
                Node node = require(path);
                if (versions.getOrDefault(path, 0) != version) {
                    throw KeeperException.create(KeeperException.Code.BADVERSION, path);
                }
                zxid++;
                versions.merge(path, 1, Integer::sum);
                nodes.put(path, new Node(data, node.czxid(), node.session()));
                event(path, Watcher.Event.EventType.NodeDataChanged);
                return null;
            });
        }

        @Override
        public CompletableFuture<Void> delete(String path) {
            return call("delete", path, () -> {
                require(path);
                remove(path);
                return null;
            });
        }

        @Override
        public CompletableFuture<OptionalInt> firstMissing(List<String> paths) {
            return call("firstMissing", "", () -> {
                for (int i = 0; i < paths.size(); i++) {
                    if (!nodes.containsKey(paths.get(i))) {
                        return OptionalInt.of(i);
                    }
                }
                return OptionalInt.empty();
            });
        }

        @Override
        public CompletableFuture<?> close(int patience) {
            asked.add("close " + askedMillis);
            patienceMillis = patience;
            if (failsToClose-- > 0) {
                throw new OutOfMemoryError("made by the test");
            }
            closed = true;
            nodes.values().removeIf(node -> node.session() == id);
            return toClose;
        }
    }
}
