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
 * session is replaced when it is next needed. Of more than {@value #USUAL_NUMBER} sessions, those that are idle are
 * closed.
 *
 * <p>Safe for use by any thread; mutable state is guarded by {@code this}.
 */
final class Sessions {

    private static final int USUAL_NUMBER = 8;
    private static final int CLOSE_MILLIS = 2_000;

    private static final long CLOSE_NANOS = (CLOSE_MILLIS + 500) * 1_000_000L;
    /** As long as the longest request of an operator. One on a lock may be longer, and says so. */
    private static final long IDLE_NANOS = Duration.ofSeconds(10).toNanos();
    /** The ttl from which the timeout of the session for lists follows: the default ttl of locks. */
    private static final long LISTS_TTL_NANOS = Duration.ofSeconds(30).toNanos();

    private final ZooKeeperUri uri;
    private final LockRuntime runtime;
    private final Session.Listener listener;
    private final Predicate<Session> inUse;
    private final SessionCalls.Opener opener;
    private final Map<Integer, Kept> byTimeout = new HashMap<>();
    private @Nullable Session forLists;
    private boolean sweeping;
    private boolean closed;

    /** A session, and the time until which a request to which it was handed may not have noted its place in it. */
    private record Kept(Session session, long handedUntilAtNanos) {

        boolean isHandedAt(long nowNanos) {
            return nowNanos - handedUntilAtNanos < 0;
        }

        Kept handedUntil(long atNanos) {
            return atNanos - handedUntilAtNanos > 0 ? new Kept(session, atNanos) : this;
        }
    }

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

    /** A connected session for a request of an operator. */
    CompletableFuture<Session> forTtl(long ttlNanos) {
        return forTtl(ttlNanos, IDLE_NANOS);
    }

    /**
     * A connected session in which a lease with this ttl can live.
     *
     * @param limitNanos the time limit of the request that uses the session
     */
    CompletableFuture<Session> forTtl(long ttlNanos, long limitNanos) {
        int millis = millisFor(ttlNanos);
        List<Session> idle = List.of();
        Session session;
        synchronized (this) {
            if (closed) {
                return closed();
            }
            long handedUntilAtNanos = runtime.nanoTime() + Math.max(IDLE_NANOS, limitNanos);
            Kept kept = byTimeout.get(millis);
            if (kept != null && !kept.session.isEnded()) {
                session = kept.session;
                byTimeout.put(millis, kept.handedUntil(handedUntilAtNanos));
                sweepLater();
            } else {
                // First, since it may fail: then the idle one stays in use.
                session = Session.open(uri, runtime, millis, opener, listener);
                byTimeout.put(millis, new Kept(session, handedUntilAtNanos));
                // First, since it may fail: then none is taken that nothing closes.
                sweepLater();
                idle = takeIdle();
            }
        }
        idle.forEach(one -> one.close(CLOSE_MILLIS));
        return session.connected();
    }

    /** Arms the next sweep, if there are more sessions than usual; called under the guard. */
    private void sweepLater() {
        if (!sweeping && byTimeout.size() > USUAL_NUMBER) {
            runtime.schedule(IDLE_NANOS, this::sweep);
            sweeping = true;
        }
    }

    private void sweep() {
        List<Session> idle;
        synchronized (this) {
            sweeping = false;
            sweepLater();
            idle = takeIdle();
        }
        idle.forEach(Sessions::closing);
    }

    /** Begins to close a session; a failure does not concern the others. */
    private static CompletableFuture<Boolean> closing(Session session) {
        return TimeLimit.start(() -> session.close(CLOSE_MILLIS).thenApply(over -> true));
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
                .filter(kept -> !kept.isHandedAt(nowNanos) && !inUse.test(kept.session))
                .map(Kept::session)
                .limit(Math.max(0, byTimeout.size() - USUAL_NUMBER))
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
        CompletableFuture<?>[] closing = all.stream().map(Sessions::closing).toArray(CompletableFuture<?>[]::new);
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
