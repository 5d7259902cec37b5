package io.leasehold.zookeeper;

import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.TimeLimit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The sessions of one store. Locks use one session for each session timeout, because the ensemble keeps the locks of a
 * dead process for that long. Lists use a separate session, which is opened when locks are first listed. An ended
 * session is replaced when it is next needed.
 *
 * <p>Safe for use by any thread; mutable state is guarded by {@code this}.
 */
final class Sessions {

    private static final int USUAL_NUMBER = 8;
    private static final int CLOSE_MILLIS = 2_000;

    private static final long CLOSE_NANOS = (CLOSE_MILLIS + 500) * 1_000_000L;
    /** Longer than a request: a session that was handed out before that is in no request that has not noted its place. */
    private static final long IDLE_NANOS = Duration.ofSeconds(5).toNanos();
    /** The ttl from which the timeout of the session for lists follows: the default ttl of locks. */
    private static final long LISTS_TTL_NANOS = Duration.ofSeconds(30).toNanos();

    private final ZooKeeperUri uri;
    private final LockRuntime runtime;
    private final Session.Listener listener;
    private final Predicate<Session> inUse;
    private final SessionCalls.Opener opener;
    private final Map<Integer, Kept> byTimeout = new HashMap<>();
    private @Nullable Session forLists;
    private boolean closed;

    /** A session, and when it was last handed to a request. */
    private record Kept(Session session, long handedAtNanos) {}

    Sessions(
            ZooKeeperUri uri,
            LockRuntime runtime,
            SessionCalls.Opener opener,
            Session.Listener listener,
            Predicate<Session> inUse) {
        this.uri = uri;
        this.runtime = runtime;
        this.opener = opener;
        this.listener = listener;
        this.inUse = inUse;
    }

    /** A connected session in which a lease with this ttl can live. */
    CompletableFuture<Session> forTtl(long ttlNanos) {
        int millis = millisFor(ttlNanos);
        List<Session> idle = List.of();
        Session session;
        synchronized (this) {
            if (closed) {
                return closed();
            }
            Kept kept = byTimeout.get(millis);
            if (kept != null && !kept.session.isEnded()) {
                session = kept.session;
            } else {
                // First, since it may fail: then the idle one stays in use.
                session = Session.open(uri, runtime, millis, opener, listener);
                idle = takeIdle();
            }
            byTimeout.put(millis, new Kept(session, runtime.nanoTime()));
        }
        idle.forEach(one -> one.close(CLOSE_MILLIS));
        return session.connected();
    }

    /**
     * A connected session that keeps no lease: a slow answer delays no lease, and an answer that is too long endangers
     * none.
     */
    CompletableFuture<Session> forLists() {
        Session session;
        synchronized (this) {
            if (closed) {
                return closed();
            }
            session = forLists;
            if (session == null || session.isEnded()) {
                session = Session.open(uri, runtime, millisFor(LISTS_TTL_NANOS), opener, listener);
                forLists = session;
            }
        }
        return session.connected();
    }

    private int millisFor(long ttlNanos) {
        Duration fixed = uri.sessionTimeout();
        return fixed == null ? Session.timeoutMillisFor(ttlNanos, uri.tickTime()) : (int) fixed.toMillis();
    }

    private CompletableFuture<Session> closed() {
        return CompletableFuture.failedFuture(new StoreUnavailableException("the store " + uri + " is closed", null));
    }

    /**
     * Takes sessions beyond the usual number that neither a place nor a request needs. A request has no place in a session
     * at first, and asks for the session again if it waits for long.
     */
    private List<Session> takeIdle() {
        long nowNanos = runtime.nanoTime();
        List<Session> idle = byTimeout.values().stream()
                .filter(kept -> nowNanos - kept.handedAtNanos >= IDLE_NANOS && !inUse.test(kept.session))
                .map(Kept::session)
                .limit(Math.max(0, byTimeout.size() + 1 - USUAL_NUMBER))
                .toList();
        idle.forEach(this::remove);
        return idle;
    }

    synchronized void forget(Session session) {
        remove(session);
    }

    private void remove(Session session) {
        Kept kept = byTimeout.get(session.askedMillis());
        if (kept != null && kept.session == session) {
            byTimeout.remove(session.askedMillis());
        }
    }

    /** Ends all sessions, and with them everything that the ensemble still keeps for them. */
    void close() {
        List<Session> all;
        synchronized (this) {
            closed = true;
            all = new ArrayList<>(byTimeout.values().stream().map(Kept::session).toList());
            byTimeout.clear();
            if (forLists != null) {
                all.add(forLists);
            }
        }
        // A session that fails to close does not prevent the others from closing.
        CompletableFuture<?>[] closing = all.stream()
                .map(session ->
                        TimeLimit.start(() -> session.close(CLOSE_MILLIS).thenApply(over -> true)))
                .toArray(CompletableFuture<?>[]::new);
        CompletableFuture<Boolean> ended = CompletableFuture.allOf(closing).thenApply(over -> true);
        try {
            // The driver waits for a silent member much longer than its parameter says.
            runtime.await(TimeLimit.within(runtime, CLOSE_NANOS, () -> ended, error -> false, () -> false));
        } catch (InterruptedException e) {
            // The sessions still end, at the latest with their timeout.
            Thread.currentThread().interrupt();
        }
    }
}
