package io.leasehold.jdbc.store;

import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Wakes waiters by notifications of the database: one connection and one thread listen, and only while there are
 * waiters.
 *
 * <p>Nothing depends on the notifications. The watch is ready only after a test notification, sent over another
 * connection, has come back. Behind a pooler that gives each transaction another session, none comes back; without a
 * connection, no thread listens. Then waiters poll, and the watch is retried later. A lost notification costs a
 * recheck.
 *
 * <p>All fields are guarded by {@code this}; no other code is called while it is held.
 */
final class NotificationWatch implements Waking {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold.jdbc");

    /** Lock names have no control characters. */
    private static final String ECHO = "\n";

    private static final int LISTEN_MILLIS = 500;
    private static final long ECHO_LIMIT_NANOS = 2_000_000_000L;

    /** Longer than one request before it may be silent. */
    private static final long UNSENT_LIMIT_NANOS = 3_000_000_000L;

    /** After this time, another test notification must come back: those of others may go to a new primary. */
    private static final long ECHO_PAUSE_NANOS = 60_000_000_000L;

    /** After this silence the database must give a sign of life: a firewall drops a connection without notice. */
    private static final long SILENCE_NANOS = 5_000_000_000L;

    private static final long ANSWER_NANOS = 2_500_000_000L;

    /** Two searches for silent waiters are at least this far apart. */
    private static final long LAPSE_PAUSE_NANOS = 1_000_000_000L;

    /** The connection is returned after this time without a waiter. */
    private static final long IDLE_LIMIT_NANOS = 30_000_000_000L;

    /** The next try comes after this time if one has failed, */
    private static final long REST_NANOS = 5_000_000_000L;

    /** and much later if notifications do not arrive. */
    private static final long LONG_REST_NANOS = 120_000_000_000L;

    private final LockRuntime runtime;
    private final Dialect.Driver driver;
    private final StoreSettings.Spare source;
    private final Function<String, CompletableFuture<Boolean>> submitEcho;
    private final Listener listener;
    private final String store;

    private final Map<OwnerToken, Waiter> waiters = new HashMap<>();
    private final Map<LockName, Integer> waitersByName = new HashMap<>();
    private long lapsedAtNanos;
    private Stage stage = Stage.OFF;
    private long restsUntilAtNanos;
    private long lastAskedAtNanos;
    private @Nullable Connection listening;
    /** The run of the thread that listens, or is about to; an earlier one may still be returning its connection. */
    private @Nullable Object current;

    /**
     * The listeners to notifications.
     *
     * @param wake wakes the waiters of a lock
     * @param taken receives words that begin with {@value TableOperations#TAKEN}
     */
    record Listener(Consumer<LockName> wake, Consumer<String> taken) {}

    /**
     * A waiter.
     *
     * @param untilAtNanos if it still waits then, it retries and is added anew
     */
    private record Waiter(List<LockName> names, long untilAtNanos) {}

    private enum Stage {
        OFF,
        STARTING,
        LIVE,
        RESTING,
        CLOSED
    }

    /**
     * Creates a watch that does not listen yet.
     *
     * @param submitEcho lets the worker send a notification with this payload soon; the future ends with that
     */
    NotificationWatch(
            LockRuntime runtime,
            Dialect.Driver driver,
            StoreSettings.Spare source,
            Function<String, CompletableFuture<Boolean>> submitEcho,
            Listener listener,
            String store) {
        this.runtime = runtime;
        this.driver = driver;
        this.source = source;
        this.submitEcho = submitEcho;
        this.listener = listener;
        this.store = store;
        this.lapsedAtNanos = runtime.nanoTime();
    }

    /** Also starts to listen: this is called when there is a waiter. */
    @Override
    public boolean isReady() {
        Object run = new Object();
        synchronized (this) {
            lastAskedAtNanos = runtime.nanoTime();
            boolean rested = stage == Stage.RESTING && lastAskedAtNanos - restsUntilAtNanos >= 0;
            if (stage != Stage.OFF && !rested) {
                return stage == Stage.LIVE;
            }
            stage = Stage.STARTING;
            current = run;
        }
        try {
            runtime.startThread("leasehold-jdbc-listen", () -> listen(run));
        } catch (OutOfMemoryError noThread) {
            end(run, REST_NANOS);
            LOG.warn(
                    "{}: no thread to listen on ({}); waiters poll, and it is tried again",
                    store,
                    noThread.getMessage());
        } catch (RuntimeException | Error e) {
            end(run, REST_NANOS);
            throw e;
        }
        return false;
    }

    @Override
    public void add(OwnerToken owner, List<LockName> awaited, long forNanos, long lookInNanos) {
        synchronized (this) {
            remove(owner);
            waiters.put(owner, new Waiter(awaited, runtime.nanoTime() + forNanos));
            awaited.forEach(name -> waitersByName.merge(name, 1, Integer::sum));
        }
        if (lookInNanos < forNanos) {
            runtime.schedule(lookInNanos, () -> awaited.forEach(this::wakeIfAwaited));
        }
    }

    @Override
    public synchronized void forget(OwnerToken owner) {
        remove(owner);
    }

    private void remove(OwnerToken owner) {
        Waiter waiter = waiters.remove(owner);
        if (waiter != null) {
            waiter.names()
                    .forEach(name -> waitersByName.computeIfPresent(name, (n, count) -> count == 1 ? null : count - 1));
        }
    }

    /**
     * Drops waiters that have not retried in time: an attempt that ends while the database is unreachable removes no
     * waiter here.
     */
    private void removeLapsed(long nowNanos) {
        if (nowNanos - lapsedAtNanos >= LAPSE_PAUSE_NANOS) {
            lapsedAtNanos = nowNanos;
            waiters.entrySet().stream()
                    .filter(waiter -> waiter.getValue().untilAtNanos() - nowNanos <= 0)
                    .map(Map.Entry::getKey)
                    .toList()
                    .forEach(this::remove);
        }
    }

    /** Notifies only about a row with a waiter, even if that waiter leaves: others may be waiting after it. */
    @Override
    public void changed(LeaseRow before, LeaseTable table) throws SQLException {
        if (before.waiter() != null) {
            table.tell(before.name().text());
        }
    }

    @Override
    public void close() {
        Connection open;
        synchronized (this) {
            stage = Stage.CLOSED;
            open = listening;
        }
        if (open != null) {
            try {
                // Another thread is reading from it; a normal close would wait for that thread.
                open.abort(Runnable::run);
            } catch (SQLException | RuntimeException | AbstractMethodError e) {
                LOG.debug("closing the connection that listens failed", e);
            }
        }
    }

    private void listen(Object run) {
        byte[] random = new byte[16];
        runtime.randomBytes(random);
        Echo echo = new Echo(ECHO + HexFormat.of().formatHex(random));
        long restNanos = REST_NANOS;
        try {
            Loan loan = Loan.begin(source.open(), Dialect.Tuning.NONE, ANSWER_NANOS);
            boolean fit = false;
            try {
                if (!driver.canListen(loan.connection())) {
                    restNanos = Long.MAX_VALUE / 2;
                } else if (isUsed(run, loan.connection())) {
                    driver.listen(loan.connection());
                    echo.submit();
                    restNanos = hear(run, loan.connection(), echo);
                    if (!echo.isElsewhere) {
                        driver.unlisten(loan.connection());
                    }
                }
                // A connection to a former primary must not return to the pool either.
                fit = !echo.isElsewhere;
            } finally {
                letGo(loan.connection());
                // A session that may still listen must not return to the pool.
                if (fit) {
                    loan.giveBack();
                } else {
                    loan.discard();
                }
            }
        } catch (SQLException | LockStoreException e) {
            LOG.debug("listening at {} failed; waiters poll", store, e);
        } catch (RuntimeException e) {
            LOG.warn("listening at {} failed unexpectedly; waiters poll", store, e);
        } finally {
            end(run, restNanos);
        }
    }

    /** Listens until no waiter is left, or notifications do not arrive; returns how long to rest then. */
    private long hear(Object run, Connection connection, Echo echo) throws SQLException {
        long heardAtNanos = runtime.nanoTime();
        while (true) {
            if (runtime.nanoTime() - heardAtNanos >= SILENCE_NANOS) {
                driver.ask(connection);
                heardAtNanos = runtime.nanoTime();
            }
            for (String payload : driver.next(connection, LISTEN_MILLIS)) {
                heardAtNanos = runtime.nanoTime();
                if (payload.equals(echo.payload)) {
                    echo.isBack();
                    begin(run);
                } else if (payload.startsWith(TableOperations.TAKEN)) {
                    listener.taken().accept(payload);
                } else if (!payload.startsWith(ECHO)) {
                    wakeIfAwaited(payload);
                }
            }
            Stage now = stageNow(run);
            if (now == Stage.OFF || now == Stage.CLOSED) {
                return 0;
            } else if (now == Stage.STARTING && (echo.hasFailed() || echo.isNotSent())) {
                return REST_NANOS;
            } else if (echo.isLost()) {
                echo.isElsewhere = now == Stage.LIVE;
                return restAfterLoss(now);
            }
            echo.submitIfDue();
        }
    }

    private long restAfterLoss(Stage now) {
        if (now == Stage.LIVE) {
            LOG.info("{}: notifications do not arrive any more, as after a switchover; listening again", store);
            return 0;
        }
        LOG.info(
                "{}: notifications do not arrive, as behind a pooler that shares sessions, or from a pool of"
                        + " one connection; waiters poll",
                store);
        return LONG_REST_NANOS;
    }

    /** A test notification, sent again and again. Used by the thread that listens. */
    private final class Echo {

        private final String payload;
        private CompletableFuture<Boolean> sending = CompletableFuture.completedFuture(true);
        private boolean sent;
        private boolean back;
        private long sinceNanos;
        /** Whether it stopped to come back: another server is the primary now. */
        private boolean isElsewhere;

        Echo(String payload) {
            this.payload = payload;
        }

        void submit() {
            back = false;
            sent = false;
            sinceNanos = runtime.nanoTime();
            sending = submitEcho.apply(payload);
            noteSent();
        }

        private void noteSent() {
            if (!sent && sending.isDone()) {
                sent = true;
                sinceNanos = runtime.nanoTime();
            }
        }

        void isBack() {
            back = true;
            sinceNanos = runtime.nanoTime();
        }

        /** Whether it could not be sent, which tells nothing about notifications; it is due again after a pause. */
        boolean hasFailed() {
            noteSent();
            return sending.isCompletedExceptionally();
        }

        /** Whether it waits for long to be sent, perhaps for this very connection, where the pool has no other one. */
        boolean isNotSent() {
            noteSent();
            return !sent && runtime.nanoTime() - sinceNanos > UNSENT_LIMIT_NANOS;
        }

        /** Whether it has been sent for long, and has not come back. */
        boolean isLost() {
            noteSent();
            return sent
                    && !back
                    && !sending.isCompletedExceptionally()
                    && runtime.nanoTime() - sinceNanos > ECHO_LIMIT_NANOS;
        }

        void submitIfDue() {
            boolean isOver = back || hasFailed();
            if (isOver && runtime.nanoTime() - sinceNanos >= ECHO_PAUSE_NANOS) {
                submit();
            }
        }
    }

    private synchronized boolean isUsed(Object run, Connection connection) {
        if (run != current || stage != Stage.STARTING) {
            return false;
        }
        listening = connection;
        return true;
    }

    /** Makes the close leave this connection alone: a pool may soon lend it to another caller. */
    private synchronized void letGo(Connection connection) {
        listening = listening == connection ? null : listening;
    }

    private synchronized void begin(Object run) {
        stage = run == current && stage == Stage.STARTING ? Stage.LIVE : stage;
    }

    /** The stage; it stops being live after a long time without waiters. */
    private synchronized Stage stageNow(Object run) {
        if (run != current) {
            return Stage.OFF;
        }
        long nowNanos = runtime.nanoTime();
        removeLapsed(nowNanos);
        boolean idle = waiters.isEmpty() && nowNanos - lastAskedAtNanos > IDLE_LIMIT_NANOS;
        stage = idle && stage == Stage.LIVE ? Stage.OFF : stage;
        return stage;
    }

    /** Wakes all waiters that relied on a notification; those that still wait retry, and are added anew. */
    private void end(Object run, long restNanos) {
        List<LockName> left;
        synchronized (this) {
            if (run != current) {
                return;
            }
            current = null;
            left = new ArrayList<>(waitersByName.keySet());
            waiters.clear();
            waitersByName.clear();
            if (stage == Stage.STARTING || stage == Stage.LIVE) {
                // If notifications arrived before, another try at once is worthwhile.
                restsUntilAtNanos = runtime.nanoTime() + (stage == Stage.LIVE ? 0 : restNanos);
                stage = Stage.RESTING;
            }
        }
        left.forEach(listener.wake());
    }

    private void wakeIfAwaited(String payload) {
        try {
            LockName name = LockName.exactly(payload);
            wakeIfAwaited(name);
            wakeIfAwaited(name.asRead());
        } catch (IllegalArgumentException e) {
            LOG.debug("a notification that is no lock name was not sent by this library", e);
        }
    }

    private void wakeIfAwaited(LockName name) {
        boolean awaited;
        synchronized (this) {
            awaited = stage != Stage.CLOSED && waitersByName.containsKey(name);
        }
        if (awaited) {
            listener.wake().accept(name);
        }
    }
}
