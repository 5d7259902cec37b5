package io.leasehold.jdbc.store;

import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.LockRuntime;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens connections to a database server on separate threads, so that a slow driver or pool does not delay the caller.
 *
 * <p>A connection that comes too late is kept briefly for the next request: otherwise a pool that always takes longer
 * than the request waits would never succeed. If a try takes long, another one starts, since the connection of the
 * first may lead to a dead server.
 *
 * <p>Only one thread at a time requests connections. All fields are guarded by {@code this}; no other code is called
 * while it is held.
 */
public final class ServerOpener implements KeptConnection.Opener {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold.jdbc");

    /** The maximum number of simultaneous tries; tries that are so old that they may never end do not count. */
    private static final int MAX_TRIES = 3;

    private static final long HOPELESS_NANOS = 30_000_000_000L;

    /** With so many tries that have not ended, hopeless or not, further ones become rare: each keeps a thread. */
    private static final int MANY_TRIES = 10;

    private static final long RARE_NANOS = 600_000_000_000L;

    /** A connection that is not requested within this time is returned. */
    private static final long KEPT_NANOS = 3_000_000_000L;

    private final LockRuntime runtime;
    private final Source source;

    private final Set<Try> underWay = new HashSet<>();
    private @Nullable LeaseTable ready;
    private @Nullable CompletableFuture<LeaseTable> asked;
    private boolean closed;

    /** The source of connections. */
    @FunctionalInterface
    public interface Source {
        /** Opens a connection, however long that takes. */
        LeaseTable open() throws SQLException;

        /** As {@link KeptConnection.Opener#loginMayChange}. */
        default boolean loginMayChange() {
            return false;
        }
    }

    /** Creates an opener for this source. */
    public ServerOpener(LockRuntime runtime, Source source) {
        this.runtime = runtime;
        this.source = source;
    }

    @Override
    public boolean loginMayChange() {
        return source.loginMayChange();
    }

    @Override
    public boolean leadsToStore() {
        return true;
    }

    /** Waits as long as the driver or the pool does. */
    @Override
    public LeaseTable open() throws SQLException {
        return open(Long.MAX_VALUE);
    }

    @Override
    public LeaseTable open(long withinNanos) throws SQLException {
        CompletableFuture<LeaseTable> arrival = new CompletableFuture<>();
        Try begun = null;
        synchronized (this) {
            LeaseTable arrived = ready;
            ready = null;
            if (arrived != null) {
                return arrived;
            }
            asked = arrival;
            if (mayTry(withinNanos)) {
                begun = new Try();
                underWay.add(begun);
            }
        }
        if (begun != null) {
            begun.start();
        }
        return await(arrival, withinNanos);
    }

    private boolean mayTry(long withinNanos) {
        long nowNanos = runtime.nanoTime();
        boolean allAreLate = underWay.stream().allMatch(one -> nowNanos - one.beganAtNanos >= withinNanos);
        boolean allAreOld = underWay.stream().allMatch(one -> nowNanos - one.beganAtNanos >= RARE_NANOS);
        return allAreLate && hopeful(nowNanos) < MAX_TRIES && (underWay.size() < MANY_TRIES || allAreOld);
    }

    /** The number of running tries that are not so old that they may never end. */
    private long hopeful(long nowNanos) {
        return underWay.stream()
                .filter(one -> nowNanos - one.beganAtNanos < HOPELESS_NANOS)
                .count();
    }

    private LeaseTable await(CompletableFuture<LeaseTable> arrival, long withinNanos) throws SQLException {
        LockRuntime.Timer limit = () -> {};
        try {
            if (withinNanos != Long.MAX_VALUE) {
                limit = runtime.schedule(withinNanos, () -> arrival.completeExceptionally(tooLate(withinNanos)));
            }
            runtime.await(arrival);
            return arrival.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            abandon(arrival, e);
            throw new StoreUnavailableException("interrupted while a connection to the database was opened", e);
        } catch (CompletionException e) {
            Throwable cause = e.getCause();
            if (cause instanceof SQLException failure) {
                throw failure;
            } else if (cause instanceof RuntimeException failure) {
                throw failure;
            } else if (cause instanceof Error failure) {
                throw failure;
            }
            throw e;
        } catch (RuntimeException | Error e) {
            abandon(arrival, e);
            throw e;
        } finally {
            limit.cancel();
        }
    }

    /** Leaves the connection to the next request, or returns it if it has come. */
    private static void abandon(CompletableFuture<LeaseTable> arrival, Throwable why) {
        if (!arrival.completeExceptionally(why)) {
            arrival.thenAccept(LeaseTable::giveBack);
        }
    }

    private static SQLException tooLate(long withinNanos) {
        return new SQLTransientConnectionException(
                "no connection came within " + withinNanos / 1_000_000
                        + " ms: the database does not answer, or all connections of the pool are in use",
                "08000");
    }

    /** One try to open a connection, which ends when the driver or the pool ends it. */
    private final class Try implements Runnable {

        private final long beganAtNanos = runtime.nanoTime();

        void start() {
            try {
                runtime.startThread("leasehold-jdbc-open", this);
            } catch (OutOfMemoryError noThread) {
                failed(new SQLTransientConnectionException("no thread to open a connection on", "08000", noThread));
            }
        }

        @Override
        public void run() {
            LeaseTable opened;
            try {
                opened = source.open();
            } catch (Throwable e) {
                failed(e);
                return;
            }
            arrived(opened);
        }

        private void failed(Throwable e) {
            CompletableFuture<LeaseTable> to;
            synchronized (ServerOpener.this) {
                underWay.remove(this);
                // Another try may still succeed.
                to = hopeful(runtime.nanoTime()) == 0 ? asked : null;
            }
            if (to == null || !to.completeExceptionally(e)) {
                LOG.debug("opening a connection failed", e);
            }
        }

        private void arrived(LeaseTable opened) {
            while (true) {
                CompletableFuture<LeaseTable> to;
                synchronized (ServerOpener.this) {
                    underWay.remove(this);
                    to = asked;
                    asked = null;
                    if (to == null && !closed && ready == null) {
                        ready = opened;
                        if (isReturnedLater(opened)) {
                            return;
                        }
                        ready = null;
                    }
                }
                if (to == null) {
                    opened.giveBack();
                    return;
                } else if (to.complete(opened)) {
                    return;
                }
            }
        }
    }

    /** Without a timer, the connection would be kept for as long as no request comes. */
    private boolean isReturnedLater(LeaseTable opened) {
        try {
            runtime.schedule(KEPT_NANOS, () -> notWanted(opened));
            return true;
        } catch (RuntimeException | OutOfMemoryError e) {
            LOG.debug("no timer for a connection that came too late; returning it", e);
            return false;
        }
    }

    /** Returns the connection on another thread: the caller is the timer's thread. */
    private void notWanted(LeaseTable opened) {
        synchronized (this) {
            if (ready != opened) {
                return;
            }
            ready = null;
        }
        KeptConnection.giveBackElsewhere(opened, runtime);
    }

    @Override
    public void close() {
        LeaseTable left;
        synchronized (this) {
            closed = true;
            left = ready;
            ready = null;
        }
        if (left != null) {
            left.giveBack();
        }
    }
}
