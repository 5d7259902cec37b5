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
 * <p>Every request returns at once; its future completes on the driver's event thread, exceptionally with
 * {@link KeeperException}, or with what the driver has thrown. Safe for use by any thread.
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

    /** The number of connections that were lost; changes under the guard. */
    private volatile long connections;

    /** Changes under the guard. */
    private volatile State state = State.CONNECTING;

    private volatile int negotiatedMillis;

    /** The last request that the leader and a quorum have carried out in this session; changes under the guard. */
    private volatile @Nullable Sending proven;

    /** The last request that was sent for its proof alone; guarded by this. */
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

    /** Begins to connect. */
    static Session open(
            ZooKeeperUri uri, LockRuntime runtime, int askedMillis, SessionCalls.Opener opener, Listener listener) {
        try {
            return new Session(uri, runtime, askedMillis, opener, listener);
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

    /** Changes whenever a connection is lost, before anything is heard over the next one. */
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
     * From when a ttl may be counted, if an exchange that reached the leader was sent then.
     *
     * <p>The leader ends a session by what it has heard of it: a client behind a follower is heard of when the follower
     * reports, each half tick, and the driver pings each third of the timeout, 10 s at most. So what the leader last
     * heard may be older than our exchange by as much as that ({@link #unheardMillis}), and only the rest of the timeout
     * is sure.
     */
    long countedFromNanos(long sentAtNanos, long ttlNanos) {
        return sentAtNanos - unsureNanos(ttlNanos);
    }

    private long unsureNanos(long ttlNanos) {
        long sureNanos = (negotiatedMillis - unheardMillis(negotiatedMillis, tickMillis)) * NANOS_PER_MILLI;
        return Math.max(0, ttlNanos - sureNanos);
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
     * Ends the session at the ensemble; completes when the ensemble has answered, or after so long. The listener hears of it
     * first: at the ensemble the nodes of the session go at once.
     */
    CompletableFuture<?> close(int patienceMillis) {
        end(new StoreUnavailableException("the session at " + ensemble + " was closed", null));
        return calls.close(patienceMillis);
    }

    // ---- its proof

    /**
     * The sending of the last exchange that proved that the session lives, unless it is too old for this waiter's turn by one of the
     * clocks. A read proves nothing.
     */
    Optional<Sending> proofFor(AcquireRequest request) {
        long withinNanos = oldestNanos(request);
        return withinNanos > 0 ? provenWithin(withinNanos) : Optional.empty();
    }

    /** How old a proof may be for it, less what is not sure of its ttl: the lease that begins counts both. */
    private long oldestNanos(AcquireRequest request) {
        return request.isWaiting() ? request.provenWithinNanos() - unsureNanos(request.ttlNanos()) : 0;
    }

    private Optional<Sending> provenWithin(long nanos) {
        return Optional.ofNullable(proven).filter(last -> last.ageNanos(runtime) <= nanos);
    }

    /**
     * Proves it anew if the proof would be too old for this waiter's turn before it asks again, once in half of the age that a proof
     * may have, whatever becomes of the request. Not waited for, and nobody misses it if it fails.
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

    /** Reads a node; if it is there, the next event of it goes to those who asked for its events. */
    CompletableFuture<SessionCalls.Node> read(String path, boolean watch) {
        return TimeLimit.start(() -> calls.read(path, watch));
    }

    CompletableFuture<Void> delete(String path) {
        return TimeLimit.start(() -> calls.delete(path));
    }

    /** Whether each of these nodes is there, by exchanges that reach the leader and a quorum, as a read does not. */
    CompletableFuture<List<Boolean>> confirm(List<String> paths) {
        return proving(() -> calls.firstMissing(paths)).thenCompose(missing -> {
            if (missing.isEmpty()) {
                return CompletableFuture.completedFuture(
                        paths.stream().map(path -> true).toList());
            }
            // The first that is missing hides the rest: those are asked for again.
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

    /** Makes a node and those above it that are missing; one that is there already is fine. */
    CompletableFuture<Void> ensure(String path) {
        return ensure(path, CreateMode.CONTAINER);
    }

    /** The same, for nodes that stay when they are empty. */
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
