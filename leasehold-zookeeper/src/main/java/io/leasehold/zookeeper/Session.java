package io.leasehold.zookeeper;

import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.Sending;
import io.leasehold.spi.toolkit.TimeLimit;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.jspecify.annotations.Nullable;

/**
 * One session at the ensemble, from its first connection to its end; it may move from member to member.
 *
 * <p>Every request returns at once. Its future completes on the driver's event thread; if it fails, it fails with
 * {@link KeeperException} or with the exception that the driver has thrown. Safe for use by any thread.
 */
final class Session {

    private static final long LONGEST_PING_GAP_MILLIS = 10_000;
    private static final long NANOS_PER_MILLI = 1_000_000L;

    /** Receives the events of a session, on the driver's event thread. */
    interface Listener {
        /** The connection is lost. The session shows whether it continues when it reaches a member. */
        void suspended(Session session);

        /** The session continues after it was suspended. */
        void resumed(Session session);

        /** The session has ended, and with it all its nodes; called once. */
        void ended(Session session);
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
    private final LockRuntime runtime;
    private final Listener listener;
    private final SessionCalls calls;
    private final CompletableFuture<Session> connected = new CompletableFuture<>();

    /** Guarded by this. */
    private final Map<String, List<Consumer<Watcher.Event.EventType>>> watched = new HashMap<>();

    /** The number of lost connections; changes under the guard. */
    private volatile long connections;

    /** Changes under the guard. */
    private volatile State state = State.CONNECTING;

    private volatile int negotiatedMillis;

    /** The last request that the leader and a quorum have executed in this session; changes under the guard. */
    private volatile @Nullable Sending proven;

    /** The last request that was sent only for its proof; guarded by this. */
    private @Nullable Sending tried;

    private Session(
            ZooKeeperUri uri, LockRuntime runtime, int askedMillis, SessionCalls.Opener opener, Listener listener)
            throws IOException {
        this.ensemble = uri.toString();
        this.askedMillis = askedMillis;
        this.tickMillis = uri.tickTime().toMillis();
        this.runtime = runtime;
        this.listener = listener;
        EventSink sink = new EventSink();
        this.calls = opener.open(askedMillis, sink);
        sink.session.complete(this);
    }

    /** Opens a session and starts to connect. */
    static Session open(
            ZooKeeperUri uri, LockRuntime runtime, int askedMillis, SessionCalls.Opener opener, Listener listener) {
        try {
            return new Session(uri, runtime, askedMillis, opener, listener);
        } catch (IOException e) {
            throw new StoreUnavailableException("no client for " + uri + " can be made: " + e.getMessage(), e);
        }
    }

    /** Receives events. They may come before the constructor has finished, and wait for it. */
    private static final class EventSink implements Watcher {
        private final CompletableFuture<Session> session = new CompletableFuture<>();

        @Override
        public void process(WatchedEvent event) {
            session.join().on(event);
        }
    }

    // ---- its life

    /** Completes when the session is connected for the first time; fails if it ends before. */
    CompletableFuture<Session> connected() {
        return connected;
    }

    boolean isConnected() {
        return state == State.CONNECTED;
    }

    /** A number that changes whenever a connection is lost, before anything is received over the next one. */
    long connections() {
        return connections;
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
        return calls.id();
    }

    /**
     * The time from which a ttl may count, if an exchange that reached the leader was sent at the given time.
     *
     * <p>The leader ends a session according to its last knowledge of it. It learns of a client behind a follower when
     * the follower reports, every half tick. The driver pings every third of the timeout, and at least every 10 s. So
     * the leader's last knowledge may be older than this exchange by that much ({@link #unheardMillis}), and only the
     * rest of the timeout is sure.
     */
    long countedFromNanos(long sentAtNanos, long ttlNanos) {
        return sentAtNanos - unsureNanos(ttlNanos);
    }

    /** The part of the ttl that the timeout of the session does not cover: a lease is valid for so much less. */
    long unsureNanos(long ttlNanos) {
        long sureNanos = (negotiatedMillis - unheardMillis(negotiatedMillis, tickMillis)) * NANOS_PER_MILLI;
        return Math.max(0, ttlNanos - sureNanos);
    }

    private static long unheardMillis(long timeoutMillis, long tickMillis) {
        return Math.min(timeoutMillis / 3, LONGEST_PING_GAP_MILLIS) + tickMillis;
    }

    /** The timeout to request so that a whole ttl is sure. */
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
                // Leasehold requests neither read-only connections nor SASL.
            }
        }
    }

    private void reached() {
        boolean first;
        synchronized (this) {
            if (state == State.ENDED) {
                return; // It was closed in the meantime, and stays closed.
            }
            first = state == State.CONNECTING;
            negotiatedMillis = calls.timeoutMillis();
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
            connections++;
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
     * Ends the session at the ensemble; completes when the ensemble has answered, or after this time. The listener is
     * notified first, because the ensemble removes the nodes of the session at once.
     */
    CompletableFuture<?> close(int patienceMillis) {
        end(new StoreUnavailableException("the session at " + ensemble + " was closed", null));
        return calls.close(patienceMillis);
    }

    // ---- its proof

    /**
     * The sending of the last exchange that proved the session alive, unless one of the clocks shows that it is too old
     * for this waiter's turn. A read proves nothing.
     */
    Optional<Sending> proofFor(AcquireRequest request) {
        long withinNanos = oldestNanos(request);
        return withinNanos > 0 ? provenWithin(withinNanos) : Optional.empty();
    }

    /**
     * The greatest age of a proof for this request, minus the unsure part of its ttl: the lease that begins counts
     * both.
     */
    private long oldestNanos(AcquireRequest request) {
        return request.isWaiting() ? request.provenWithinNanos() - unsureNanos(request.ttlNanos()) : 0;
    }

    private Optional<Sending> provenWithin(long nanos) {
        return Optional.ofNullable(proven).filter(last -> last.ageNanos(runtime) <= nanos);
    }

    /**
     * Proves the session again if its proof would be too old for this waiter's turn before the waiter asks again. It
     * sends at most one request in half of the allowed age of a proof, whatever the outcome of the request. The caller
     * does not wait for it, and ignores its failure.
     */
    @SuppressWarnings("FutureReturnValueIgnored")
    void keepProvenFor(AcquireRequest request, String path) {
        long withinNanos = oldestNanos(request);
        long nextNanos = Math.min(withinNanos, request.recheckNanos()) / 2 * 3;
        long apartNanos = withinNanos / 2;
        if (withinNanos > 0
                && provenWithin(Math.max(withinNanos - nextNanos, apartNanos)).isEmpty()
                && triesNow(apartNanos)) {
            proving(() -> calls.firstMissing(List.of(path)));
        }
    }

    private synchronized boolean triesNow(long apartNanos) {
        Sending last = tried;
        boolean isDue = last == null || last.ageNanos(runtime) > apartNanos;
        if (isDue) {
            tried = Sending.now(runtime);
        }
        return isDue;
    }

    private <T> CompletableFuture<T> proving(Supplier<CompletableFuture<T>> exchange) {
        Sending sent = Sending.now(runtime);
        return TimeLimit.start(exchange).thenApply(answer -> {
            provenBy(sent);
            return answer;
        });
    }

    private synchronized void provenBy(Sending sent) {
        Sending last = proven;
        if (last == null || sent.isAfter(last)) {
            proven = sent;
        }
    }

    // ---- watches

    /** Calls back once at the next event of the node; to be called before the node is read with a watch. */
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

    CompletableFuture<SessionCalls.Created> create(String path, byte[] data, CreateMode mode) {
        return proving(() -> calls.create(path, data, mode));
    }

    CompletableFuture<List<String>> children(String path) {
        return TimeLimit.start(() -> calls.children(path));
    }

    /** The children as the leader knows them now. */
    CompletableFuture<List<String>> latestChildren(String path) {
        CompletableFuture<Void> synced = TimeLimit.start(() -> calls.sync(path));
        // Sent at once: the ensemble answers the requests of a session in their order.
        return synced.thenCombine(children(path), (nothing, children) -> children);
    }

    /**
     * Reads a node. With a watch, if the node exists, its next event goes to the callbacks that are registered for it.
     */
    CompletableFuture<SessionCalls.Node> read(String path, boolean watch) {
        return TimeLimit.start(() -> calls.read(path, watch));
    }

    /** Replaces the data of a node that has this version. */
    CompletableFuture<Void> write(String path, byte[] data, int version) {
        return proving(() -> calls.write(path, data, version));
    }

    CompletableFuture<Void> delete(String path) {
        return TimeLimit.start(() -> calls.delete(path));
    }

    /**
     * Whether each of these nodes exists, by exchanges that reach the leader and a quorum. A read does not reach them.
     */
    CompletableFuture<List<Boolean>> confirm(List<String> paths) {
        return proving(() -> calls.firstMissing(paths)).thenCompose(missing -> {
            if (missing.isEmpty()) {
                return CompletableFuture.completedFuture(
                        paths.stream().map(path -> true).toList());
            }
            // The first missing node hides the rest, so those are requested again.
            List<String> others = new ArrayList<>(paths);
            others.remove(missing.getAsInt());
            CompletableFuture<List<Boolean>> rest =
                    others.isEmpty() ? CompletableFuture.completedFuture(List.of()) : confirm(others);
            return rest.thenApply(answers -> {
                List<Boolean> all = new ArrayList<>(answers);
                all.add(missing.getAsInt(), false);
                return all;
            });
        });
    }

    /** Creates a node and its missing parents; an existing node is fine. */
    CompletableFuture<Void> ensure(String path) {
        return ensure(path, CreateMode.CONTAINER);
    }

    /** Creates a node that stays when it is empty, and its missing parents; an existing node is fine. */
    CompletableFuture<Void> ensurePersistent(String path) {
        return ensure(path, CreateMode.PERSISTENT);
    }

    private CompletableFuture<Void> ensure(String path, CreateMode mode) {
        return create(path, new byte[0], mode).<Void>thenApply(made -> null).exceptionallyCompose(error -> {
            KeeperException.Code code = Failures.codeOf(error);
            if (code == KeeperException.Code.NODEEXISTS) {
                return CompletableFuture.completedFuture(null);
            }
            int slash = path.lastIndexOf('/');
            return code == KeeperException.Code.NONODE && slash > 0
                    ? ensurePersistent(path.substring(0, slash)).thenCompose(nothing -> ensure(path, mode))
                    : CompletableFuture.failedFuture(error);
        });
    }
}
