package io.leasehold.zookeeper;

import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Stat;

/**
 * One session at the ensemble, from its first connection to its end; it may move from member to member.
 *
 * <p>Every request returns at once; its future completes on the driver's event thread, exceptionally with
 * {@link KeeperException}. Safe for use by any thread.
 */
final class Session {

    private static final long LONGEST_PING_GAP_MILLIS = 10_000;
    private static final long NANOS_PER_MILLI = 1_000_000L;

    /** Hears what becomes of a session; called on the driver's event thread. */
    interface Listener {
        /** Its connection is gone; whether it goes on shows when a member is reached. */
        void suspended(Session session);

        /** It was suspended, and goes on. */
        void resumed(Session session);

        /** It is over, and with it all its nodes; called once. */
        void ended(Session session);
    }

    /** A node that was made. */
    record Created(String path, long czxid) {}

    /** A node that was read. */
    static final class Node {
        private final byte[] data;
        private final Stat stat;

        private Node(byte[] data, Stat stat) {
            this.data = data;
            this.stat = stat;
        }

        byte[] data() {
            return data;
        }

        Stat stat() {
            return stat;
        }
    }

    private enum State {
        CONNECTING,
        CONNECTED,
        SUSPENDED,
        ENDED
    }

    private final String ensemble;
    private final int askedMillis;
    private final long tickMillis;
    private final List<ACL> acl;
    private final Listener listener;
    private final ZooKeeper handle;
    private final CompletableFuture<Session> connected = new CompletableFuture<>();

    /** Guarded by this. */
    private final Map<String, List<Consumer<Watcher.Event.EventType>>> watched = new HashMap<>();

    /** Changes under the guard. */
    private volatile State state = State.CONNECTING;

    private volatile int negotiatedMillis;

    private Session(ZooKeeperUri uri, int askedMillis, List<ACL> acl, ZKClientConfig config, Listener listener)
            throws IOException {
        this.ensemble = uri.toString();
        this.askedMillis = askedMillis;
        this.tickMillis = uri.tickTime().toMillis();
        this.acl = acl;
        this.listener = listener;
        EventSink sink = new EventSink();
        this.handle = new ZooKeeper(uri.connectString(), askedMillis, sink, config);
        String credentials = uri.credentials();
        if (credentials != null) {
            handle.addAuthInfo("digest", credentials.getBytes(StandardCharsets.UTF_8));
        }
        sink.session.complete(this);
    }

    /** Begins to connect. */
    static Session open(ZooKeeperUri uri, int askedMillis, List<ACL> acl, ZKClientConfig config, Listener listener) {
        try {
            return new Session(uri, askedMillis, acl, config, listener);
        } catch (IOException e) {
            throw new StoreUnavailableException("no client for " + uri + " can be made: " + e.getMessage(), e);
        }
    }

    /** Events may come before the constructor is done; they wait for it. */
    private static final class EventSink implements Watcher {
        private final CompletableFuture<Session> session = new CompletableFuture<>();

        @Override
        public void process(WatchedEvent event) {
            session.join().on(event);
        }
    }

    // ---- its life

    /** Completes when it is connected for the first time, exceptionally if it ends before. */
    CompletableFuture<Session> connected() {
        return connected;
    }

    boolean isConnected() {
        return state == State.CONNECTED;
    }

    boolean isEnded() {
        return state == State.ENDED;
    }

    int askedMillis() {
        return askedMillis;
    }

    /** The timeout that the ensemble granted at the last connection. */
    long timeoutNanos() {
        return negotiatedMillis * NANOS_PER_MILLI;
    }

    long id() {
        return handle.getSessionId();
    }

    /**
     * From when a ttl may be counted, if an exchange that reached the leader was sent then.
     *
     * <p>The leader ends a session by what it has heard of it: a client behind a follower is heard of when the follower
     * reports, each half tick, and the driver pings each third of the timeout, 10 s at most. So what the leader last
     * heard may be older than our exchange by as much as that ({@link #unheardMillis}), and only the rest of the timeout
     * is sure.
     */
    long countedFromNanos(long sentAtNanos, long ttlNanos) {
        long sureNanos = (negotiatedMillis - unheardMillis(negotiatedMillis, tickMillis)) * NANOS_PER_MILLI;
        return sentAtNanos - Math.max(0, ttlNanos - sureNanos);
    }

    private static long unheardMillis(long timeoutMillis, long tickMillis) {
        return Math.min(timeoutMillis / 3, LONGEST_PING_GAP_MILLIS) + tickMillis;
    }

    /** The timeout to ask for, so that a whole ttl is sure. */
    static int timeoutMillisFor(long ttlNanos, Duration tickTime) {
        long sureMillis = (ttlNanos + NANOS_PER_MILLI - 1) / NANOS_PER_MILLI + tickTime.toMillis();
        long timeout = sureMillis <= 2 * LONGEST_PING_GAP_MILLIS
                ? (sureMillis * 3 + 1) / 2
                : sureMillis + LONGEST_PING_GAP_MILLIS;
        return (int) Math.min(timeout, Integer.MAX_VALUE);
    }

    private void on(WatchedEvent event) {
        if (event.getType() != Watcher.Event.EventType.None) {
            fire(event.getPath(), event.getType());
            return;
        }
        switch (event.getState()) {
            case SyncConnected -> reached();
            case Disconnected -> cutOff();
            case AuthFailed ->
                end(new StoreAccessException(
                        ensemble + " refused the credentials; check user and password in the store URI", null));
            case Expired, Closed -> end(new StoreUnavailableException("the session at " + ensemble + " is over", null));
            default -> {
                // Read-only connections and SASL are not asked for.
            }
        }
    }

    private void reached() {
        boolean first;
        synchronized (this) {
            if (state == State.ENDED) {
                return; // It was closed meanwhile, and stays so.
            }
            first = state == State.CONNECTING;
            negotiatedMillis = handle.getSessionTimeout();
            state = State.CONNECTED;
        }
        if (first) {
            connected.complete(this);
        } else {
            listener.resumed(this);
        }
    }

    private void cutOff() {
        synchronized (this) {
            if (state != State.CONNECTED) {
                return;
            }
            state = State.SUSPENDED;
        }
        listener.suspended(this);
    }

    private void end(LockStoreException why) {
        synchronized (this) {
            if (state == State.ENDED) {
                return;
            }
            state = State.ENDED;
            watched.clear();
        }
        connected.completeExceptionally(why);
        listener.ended(this);
    }

    /**
     * Ends the session at the ensemble, waiting for its answer for at most so long. Whoever listens hears of it first: at the
     * ensemble the nodes of the session go at once.
     */
    void close(int patienceMillis) {
        end(new StoreUnavailableException("the session at " + ensemble + " was closed", null));
        try {
            handle.close(patienceMillis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    // ---- watches

    /** Calls back once when something happens to the node; to be asked for before the node is read with a watch. */
    synchronized void onEvent(String path, Consumer<Watcher.Event.EventType> callback) {
        watched.computeIfAbsent(path, p -> new ArrayList<>(1)).add(callback);
    }

    /** Forgets a callback; the watch itself stays at the server until the node is gone. */
    synchronized void forget(String path, Consumer<Watcher.Event.EventType> callback) {
        List<Consumer<Watcher.Event.EventType>> callbacks = watched.get(path);
        if (callbacks != null && callbacks.remove(callback) && callbacks.isEmpty()) {
            watched.remove(path);
        }
    }

    private void fire(String path, Watcher.Event.EventType type) {
        List<Consumer<Watcher.Event.EventType>> callbacks;
        synchronized (this) {
            callbacks = watched.remove(path);
        }
        if (callbacks != null) {
            callbacks.forEach(callback -> callback.accept(type));
        }
    }

    // ---- requests

    CompletableFuture<Created> create(String path, byte[] data, CreateMode mode) {
        CompletableFuture<Created> future = new CompletableFuture<>();
        handle.create(
                path,
                data,
                acl,
                mode,
                (rc, asked, context, name, stat) ->
                        complete(future, rc, asked, () -> new Created(name, stat.getCzxid())),
                null);
        return future;
    }

    CompletableFuture<List<String>> children(String path) {
        CompletableFuture<List<String>> future = new CompletableFuture<>();
        handle.getChildren(
                path, false, (rc, asked, context, children) -> complete(future, rc, asked, () -> children), null);
        return future;
    }

    /** The children as the leader knows them now. */
    CompletableFuture<List<String>> latestChildren(String path) {
        CompletableFuture<Void> synced = new CompletableFuture<>();
        handle.sync(path, (rc, asked, context) -> complete(synced, rc, asked, () -> null), null);
        // Sent at once: the ensemble answers the requests of a session in their order.
        return synced.thenCombine(children(path), (nothing, children) -> children);
    }

    /** Reads a node; if it is there, the next event of it goes to those who asked for its events. */
    CompletableFuture<Node> read(String path, boolean watch) {
        CompletableFuture<Node> future = new CompletableFuture<>();
        handle.getData(
                path,
                watch,
                (rc, asked, context, data, stat) ->
                        complete(future, rc, asked, () -> new Node(data == null ? new byte[0] : data, stat)),
                null);
        return future;
    }

    CompletableFuture<Void> delete(String path) {
        CompletableFuture<Void> future = new CompletableFuture<>();
        handle.delete(path, -1, (rc, asked, context) -> complete(future, rc, asked, () -> null), null);
        return future;
    }

    /**
     * Whether each of these nodes is there, by an exchange that reaches the leader and a quorum, as a read does not.
     */
    CompletableFuture<List<Boolean>> confirm(List<String> paths) {
        CompletableFuture<List<Boolean>> future = new CompletableFuture<>();
        handle.multi(
                paths.stream().map(path -> Op.check(path, -1)).toList(),
                (rc, asked, context, results) -> confirmed(future, paths, rc, results),
                null);
        return future;
    }

    private void confirmed(
            CompletableFuture<List<Boolean>> future, List<String> paths, int rc, List<OpResult> results) {
        KeeperException.Code code = KeeperException.Code.get(rc);
        if (code == KeeperException.Code.OK) {
            future.complete(paths.stream().map(path -> true).toList());
        } else if (code == KeeperException.Code.NONODE && results != null) {
            // The first that is missing hides the rest: those are asked for again.
            int missing = 0;
            while (!(results.get(missing) instanceof OpResult.ErrorResult result
                    && result.getErr() == KeeperException.Code.NONODE.intValue())) {
                missing++;
            }
            List<String> others = new ArrayList<>(paths);
            others.remove(missing);
            int place = missing;
            CompletableFuture<List<Boolean>> rest =
                    others.isEmpty() ? CompletableFuture.completedFuture(List.of()) : confirm(others);
            rest.whenComplete((answers, error) -> {
                if (error != null) {
                    future.completeExceptionally(error);
                } else {
                    List<Boolean> all = new ArrayList<>(answers);
                    all.add(place, false);
                    future.complete(all);
                }
            });
        } else {
            future.completeExceptionally(KeeperException.create(code, paths.get(0)));
        }
    }

    private static <T> void complete(CompletableFuture<T> future, int rc, String path, Supplier<T> value) {
        KeeperException.Code code = KeeperException.Code.get(rc);
        if (code == KeeperException.Code.OK) {
            future.complete(value.get());
        } else {
            future.completeExceptionally(KeeperException.create(code, path));
        }
    }

    /** Makes a node and those above it that are missing; one that is there already is fine. */
    CompletableFuture<Void> ensure(String path) {
        return create(path, new byte[0], CreateMode.CONTAINER)
                .handle((made, error) -> {
                    KeeperException.Code code = Failures.codeOf(error);
                    if (error == null || code == KeeperException.Code.NODEEXISTS) {
                        return CompletableFuture.<Void>completedFuture(null);
                    }
                    int slash = path.lastIndexOf('/');
                    if (code == KeeperException.Code.NONODE && slash > 0) {
                        return ensurePersistent(path.substring(0, slash)).thenCompose(nothing -> ensure(path));
                    }
                    return CompletableFuture.<Void>failedFuture(error);
                })
                .thenCompose(next -> next);
    }

    /** The same, for nodes that stay when they are empty. */
    CompletableFuture<Void> ensurePersistent(String path) {
        return create(path, new byte[0], CreateMode.PERSISTENT)
                .handle((made, error) -> {
                    KeeperException.Code code = Failures.codeOf(error);
                    if (error == null || code == KeeperException.Code.NODEEXISTS) {
                        return CompletableFuture.<Void>completedFuture(null);
                    }
                    int slash = path.lastIndexOf('/');
                    if (code == KeeperException.Code.NONODE && slash > 0) {
                        return ensurePersistent(path.substring(0, slash))
                                .thenCompose(nothing -> ensurePersistent(path));
                    }
                    return CompletableFuture.<Void>failedFuture(error);
                })
                .thenCompose(next -> next);
    }
}
