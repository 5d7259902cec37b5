package io.leasehold.zookeeper;

import io.leasehold.LockName;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import io.leasehold.spi.toolkit.PlainName;
import io.leasehold.verify.queue.QueueFault;
import io.leasehold.verify.queue.QueueModel;
import io.leasehold.verify.queue.QueueRun;
import io.leasehold.verify.queue.QueueWire;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.jspecify.annotations.Nullable;

/**
 * A model of ZooKeeper with the parts that the store uses: sessions, ephemeral nodes with sequences, and watches that
 * report one event. For one thread at a time.
 *
 * <p>The leader gets signs of life of a session only by pings, and each no later than a tick after its sending: the
 * worst case of the store's reckoning.
 */
public final class ZooKeeperModel implements QueueModel {

    private static final String ADDRESS = "zk://model:2181/sim?tickTime=200ms";
    private static final ZooKeeperUri URI = ZooKeeperUri.parse(StoreUri.parse(ADDRESS));
    private static final ZooKeeperUri WITH_READERS = ZooKeeperUri.parse(StoreUri.parse(ADDRESS + "&readers=true"));
    private static final long TICK_NANOS = URI.tickTime().toNanos();
    /** A member that lags behind for longer loses its clients. */
    private static final long LAG_NANOS = 5 * TICK_NANOS;

    private static final long RECONNECT_NANOS = Duration.ofMillis(100).toNanos();

    private final QueueRun run;
    private final ZooKeeperUri uri;
    private final ZnodeTree tree = new ZnodeTree();
    private final Map<Long, LiveSession<Client>> sessions = new HashMap<>();
    private final List<Client> clients = new ArrayList<>();
    private long sessionNumber;

    /** Creates an empty ensemble. */
    public ZooKeeperModel(QueueRun run, boolean hasReaders) {
        this.run = run;
        this.uri = hasReaders ? WITH_READERS : URI;
    }

    @Override
    public LockStore open(QueueWire wire) {
        return new ZooKeeperStore(uri, wire.process(), (millis, events) -> {
            Client client = new Client(wire, millis, events);
            clients.add(client);
            client.connect();
            return client;
        });
    }

    private static String lockPath(String lock) {
        return URI.chroot() + "/" + PlainName.of(LockName.exactly(lock));
    }

    private void remove(String path) {
        if (!tree.remove(path)) {
            return;
        }
        tell(path, Watcher.Event.EventType.NodeDeleted);
    }

    private void tell(String path, Watcher.Event.EventType type) {
        for (LiveSession<Client> session : List.copyOf(sessions.values())) {
            if (session.watched.remove(path)) {
                session.client.tell(path, type);
            }
        }
    }

    private void end(LiveSession<Client> session) {
        if (sessions.remove(session.id) == null) {
            return;
        }
        session.endedWith = tree.now().zxid() + 1;
        session.endedAtNanos = run.host().nanoTime();
        tree.of(session.id).forEach(this::remove);
        tree.pass();
    }

    /** The state that the member of this session shows: it may be old, but never older than one that it has shown. */
    private ZnodeTree.View shownTo(LiveSession<Client> session, String path) throws KeeperException {
        boolean ended = sessions.get(session.id) != session;
        long newest = ended ? session.endedWith - 1 : tree.now().zxid();
        long oldest = Math.max(session.seen, tree.oldest());
        boolean lags = !run.isCalm() && run.world().chance(0.2);
        if (ended && (!lags || oldest > newest || run.host().nanoTime() - session.endedAtNanos > LAG_NANOS)) {
            throw ZnodeTree.failure(KeeperException.Code.SESSIONEXPIRED, path);
        }
        if (lags) {
            long version = ended ? newest : oldest + run.world().randomBelow(newest - oldest + 1);
            newest = tree.asOf(version).zxid();
            if (newest < tree.now().zxid()) {
                run.saw(QueueFault.STALE_READ);
            }
        }
        session.seen = newest;
        return tree.asOf(newest);
    }

    private void awaitEnd(LiveSession<Client> session) {
        long leftNanos = session.leftNanos(run.host().nanoTime());
        run.host().schedule(leftNanos + run.world().randomBelow(TICK_NANOS), () -> {
            if (sessions.get(session.id) != session) {
                return;
            }
            if (session.leftNanos(run.host().nanoTime()) <= 0) {
                run.saw(QueueFault.EXPIRED);
                end(session);
            } else {
                awaitEnd(session);
            }
        });
    }

    // ---- faults

    @Override
    public OptionalLong keptUntilNanos(String lock, long token) {
        return tree.holder(lockPath(lock), uri.tokens(), token)
                .map(node -> sessions.get(node.session()))
                .map(session -> OptionalLong.of(
                        run.host().worldNanosAfter(session.leftNanos(run.host().nanoTime()))))
                .orElse(OptionalLong.empty());
    }

    /** Begins each session anew. */
    @Override
    public void newLeader() {
        sessions.values().forEach(session -> session.heardAtNanos = run.host().nanoTime());
        clients.forEach(Client::disconnect);
    }

    @Override
    public void breakWatches(QueueWire wire) {
        clients.stream().filter(client -> client.wire == wire).forEach(Client::disconnect);
    }

    @Override
    public void forceRelease(String lock) {
        String path = lockPath(lock);
        Znodes.inOrder(tree.childrenOf(path)).stream().findFirst().ifPresent(first -> remove(path + "/" + first));
    }

    @Override
    public List<String> entries() {
        return tree.ephemeral();
    }

    // ---- the driver

    /** One session of a client, as the driver keeps it: connections that break and are restored, pings, and watches. */
    private final class Client implements SessionCalls {
        private final QueueWire wire;
        private final LockRuntime process;
        private final int askedMillis;
        private final Watcher events;
        private final Set<String> watched = new HashSet<>();
        private @Nullable LiveSession<Client> session;
        private boolean connected;
        private boolean over;
        private long connections;
        /**
         * The number of messages sent over this connection, and of those that have arrived: their order is kept, and
         * none is skipped.
         */
        private long sent;

        private long arrived;
        private long pingedAtNanos;
        private long heardAtNanos;

        Client(QueueWire wire, int askedMillis, Watcher events) {
            this.wire = wire;
            this.process = wire.process();
            this.askedMillis = askedMillis;
            this.events = events;
        }

        private void event(Watcher.Event.EventType type, Watcher.Event.KeeperState state, @Nullable String path) {
            events.process(new WatchedEvent(type, state, path));
        }

        private long timeoutNanos() {
            return askedMillis * 1_000_000L;
        }

        /** Repeats the request until a member answers. */
        void connect() {
            if (over || wire.isOver()) {
                return;
            }
            long connection = ++connections;
            CompletableFuture<Boolean> welcome = wire.call(this::welcome, () -> lost("/"));
            welcome.whenComplete((alive, error) -> {
                if (over || connection != connections) {
                    return;
                }
                if (error != null) {
                    process.schedule(RECONNECT_NANOS, this::connect);
                } else if (alive) {
                    connected = true;
                    sent = 0;
                    arrived = 0;
                    heardAtNanos = process.nanoTime();
                    event(Watcher.Event.EventType.None, Watcher.Event.KeeperState.SyncConnected, null);
                    ping(connection);
                } else {
                    over = true;
                    event(Watcher.Event.EventType.None, Watcher.Event.KeeperState.Expired, null);
                }
            });
            process.schedule(timeoutNanos() / 3, () -> {
                if (connection == connections && !connected) {
                    connect();
                }
            });
        }

        /** Runs at the ensemble: creates a session, or resumes a known one and sets its watches again. */
        private boolean welcome() {
            LiveSession<Client> known = session;
            if (known == null) {
                LiveSession<Client> made = new LiveSession<>(++sessionNumber, timeoutNanos(), this);
                made.heardAtNanos = run.host().nanoTime();
                sessions.put(made.id, made);
                session = made;
                awaitEnd(made);
                return true;
            }
            if (sessions.get(known.id) != known) {
                return false;
            }
            known.heardAtNanos = run.host().nanoTime();
            for (String path : List.copyOf(watched)) {
                watch(known, path, tree.missed(path, known.seen));
            }
            return true;
        }

        /** Breaks its connection; pending messages are sent over the next one. */
        void disconnect() {
            if (over || !connected || wire.isOver()) {
                return;
            }
            LiveSession<Client> known = session;
            if (known != null) {
                known.watched.clear();
            }
            long connection = connections;
            process.execute(() -> broken(connection));
        }

        private void broken(long connection) {
            if (over || !connected || connection != connections) {
                return;
            }
            connected = false;
            connections++;
            event(Watcher.Event.EventType.None, Watcher.Event.KeeperState.Disconnected, null);
            process.schedule(RECONNECT_NANOS, this::connect);
        }

        private void ping(long connection) {
            if (over || connection != connections || wire.isOver()) {
                return;
            }
            if (process.nanoTime() - heardAtNanos > timeoutNanos() * 2 / 3) {
                broken(connection);
                return;
            }
            pingNow();
            process.schedule(LiveSession.pingNanos(timeoutNanos()), () -> ping(connection));
        }

        private void pingNow() {
            pingedAtNanos = run.world().elapsedNanos();
            LiveSession<Client> known = session;
            call("/", () -> {
                        Objects.requireNonNull(known).heard(run, TICK_NANOS);
                        return true;
                    })
                    .whenComplete((pong, error) -> {
                        if (error == null) {
                            heardAtNanos = process.nanoTime();
                        }
                    });
        }

        /** Watches a node, or tells of what has changed since, as soon as the member learns it. */
        private void watch(LiveSession<Client> known, String path, Watcher.Event.@Nullable EventType missed) {
            if (missed == null) {
                known.watched.add(path);
            } else {
                tell(path, missed);
            }
        }

        void tell(String path, Watcher.Event.EventType type) {
            wire.tell(() -> {
                if (!over && watched.remove(path)) {
                    event(type, Watcher.Event.KeeperState.SyncConnected, path);
                }
            });
        }

        private KeeperException lost(String path) {
            return ZnodeTree.failure(KeeperException.Code.CONNECTIONLOSS, path);
        }

        /** Sends a request that passes through the leader. */
        private <T> CompletableFuture<T> call(String path, Callable<T> work) {
            LiveSession<Client> known = session;
            return exchange(path, () -> {
                if (known == null || sessions.get(known.id) != known) {
                    throw ZnodeTree.failure(KeeperException.Code.SESSIONEXPIRED, path);
                }
                T value = work.call();
                known.seen = tree.now().zxid();
                return value;
            });
        }

        private <T> CompletableFuture<T> exchange(String path, Callable<T> work) {
            LiveSession<Client> known = session;
            if (over || known == null) {
                return CompletableFuture.failedFuture(ZnodeTree.failure(KeeperException.Code.SESSIONEXPIRED, path));
            }
            if (!connected) {
                CompletableFuture<T> refused = new CompletableFuture<>();
                process.execute(() -> refused.completeExceptionally(lost(path)));
                return refused;
            }
            if (run.world().elapsedNanos() - pingedAtNanos >= LiveSession.pingNanos(timeoutNanos())) {
                // After a pause of the process a ping is due, and is sent first. After a sleep of the machine it is not
                // due, but its member treats the request itself as a sign of life.
                pingNow();
            }
            long connection = connections;
            long number = ++sent;
            CompletableFuture<T> reply = wire.call(
                    () -> {
                        if (connection != connections || number != arrived + 1) {
                            disconnect();
                            throw lost(path);
                        }
                        arrived++;
                        return work.call();
                    },
                    () -> lost(path));
            reply.whenComplete((value, error) -> {
                if (error instanceof KeeperException.ConnectionLossException) {
                    broken(connection);
                }
            });
            return reply;
        }

        @Override
        public long id() {
            return session == null ? 0 : session.id;
        }

        @Override
        public int timeoutMillis() {
            return askedMillis;
        }

        @Override
        public CompletableFuture<Created> create(String path, byte[] data, CreateMode mode) {
            long sentAtNanos = run.world().elapsedNanos();
            return call(path, () -> {
                Created made = tree.create(path, data, mode, Objects.requireNonNull(session).id);
                if (mode.isSequential()) {
                    String node = path.substring(path.lastIndexOf('/') + 1);
                    run.made(node.substring("_c_".length(), node.length() - "-lock-".length()), sentAtNanos);
                }
                return made;
            });
        }

        @Override
        public CompletableFuture<List<String>> children(String path) {
            return exchange(path, () -> {
                ZnodeTree.View view = shownTo(Objects.requireNonNull(session), path);
                view.require(path);
                return view.childrenOf(path);
            });
        }

        @Override
        public CompletableFuture<Void> sync(String path) {
            return this.<Void>call(path, () -> null);
        }

        @Override
        public CompletableFuture<Node> read(String path, boolean watch) {
            return exchange(path, () -> {
                LiveSession<Client> known = Objects.requireNonNull(session);
                Node node = shownTo(known, path).require(path);
                if (watch) {
                    watched.add(path);
                    watch(known, path, tree.missed(path, known.seen));
                }
                return node;
            });
        }

        @Override
        public CompletableFuture<Void> write(String path, byte[] data, int version) {
            return this.<Void>call(path, () -> {
                tree.write(path, data, version);
                ZooKeeperModel.this.tell(path, Watcher.Event.EventType.NodeDataChanged);
                return null;
            });
        }

        @Override
        public CompletableFuture<Void> delete(String path) {
            return this.<Void>call(path, () -> {
                tree.require(path);
                ZooKeeperModel.this.remove(path);
                return null;
            });
        }

        @Override
        public CompletableFuture<OptionalInt> firstMissing(List<String> paths) {
            return call(
                    paths.get(0),
                    () -> IntStream.range(0, paths.size())
                            .filter(i -> tree.find(paths.get(i)) == null)
                            .findFirst());
        }

        @Override
        public CompletableFuture<?> close(int patienceMillis) {
            LiveSession<Client> known = session;
            over = true;
            if (known != null && !wire.isOver()) {
                wire.ask(() -> ZooKeeperModel.this.end(known));
            }
            return CompletableFuture.completedFuture(null);
        }
    }
}
