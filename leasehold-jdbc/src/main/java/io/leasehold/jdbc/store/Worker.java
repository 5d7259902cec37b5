package io.leasehold.jdbc.store;

import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.SqlTrouble;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.Failure;
import java.sql.SQLException;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The single thread that uses the database: takes tasks from the queue and runs each in a separate transaction.
 *
 * <p>It waits for locks only inside the database, for short spans, and checks between them whether a caller still waits
 * for the task.
 */
final class Worker implements Runnable {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold.jdbc");

    /** The number of connections after which a store that keeps moving is given up. */
    private static final int MAX_RESTARTS = 5;

    /** Where a wait cannot be limited to less than a second, no statement waits for a row this long. */
    private static final long SILENCE_NANOS = 1_200_000_000L;

    /** A statement that may wait for a row is silent after twice its wait. */
    private static final int WAITS_OF_A_STATEMENT = 2;

    /** After this time, one single statement may again find the database silent. */
    private static final long QUICK_AGAIN_NANOS = 60_000_000_000L;

    /**
     * The maximum time that a transaction waits for a row; it also waits at most this part of the shortest time limit.
     */
    private static final long MAX_WAIT_NANOS = 250_000_000L;

    private static final int SHARE_FOR_WAITS = 4;

    private static final String BUSY = "the database was busy with other transactions";

    /** The first pause of a task that stands aside, and the longest unless its transactions take longer. */
    private static final long MIN_PAUSE_NANOS = 500_000L;

    private static final long MAX_PAUSE_NANOS = 50_000_000L;

    /** The token horizon is moved this far at a time, */
    private static final long HORIZON_MICROS = 60_000_000L;

    /** and this long before the wall clock reaches it. */
    private static final long HORIZON_MARGIN_MICROS = 1_000_000L;

    private final LockRuntime runtime;
    private final WorkQueue queue;
    private final KeptConnection connections;
    private final Dialect dialect;
    private final String store;
    private final Runnable reachableAgain;
    private boolean unreachable;
    /**
     * Whether a single statement found the database silent. It takes its table locks before its limit takes effect, so
     * it may have waited for a table, and its server process still does. No further one starts before a transaction has
     * written a row, or for a minute.
     */
    private boolean quickWasSilent;

    private long quickSilentSinceNanos;

    private volatile @Nullable Waiting waiting;
    private final CompletableFuture<Void> ended = new CompletableFuture<>();

    /**
     * Creates a worker.
     *
     * @param reachableAgain runs after the first transaction that succeeds after a failure of the connection
     */
    Worker(
            LockRuntime runtime,
            WorkQueue queue,
            KeptConnection connections,
            Dialect dialect,
            String store,
            Runnable reachableAgain) {
        this.runtime = runtime;
        this.queue = queue;
        this.connections = connections;
        this.dialect = dialect;
        this.store = store;
        this.reachableAgain = reachableAgain;
    }

    /** The worker's current wait, for a connection or for the answer to a statement, which other threads read. */
    private record Waiting(Task<?> task, boolean connecting, long sinceNanos) {}

    /** The reason for the delay of a task, if the database or a pool has been silent; null if it may have another. */
    @Nullable
    String delayedBy(Task<?> task) {
        Waiting now = waiting;
        if (now == null || !connections.mayFallSilent()) {
            return null;
        }
        long nanos = runtime.nanoTime() - now.sinceNanos();
        String millis = nanos / 1_000_000 + " ms";
        if (now.connecting()) {
            return "no connection to the database came within " + millis
                    + ": it does not answer, or all connections of the pool are in use";
        }
        boolean mayWaitForRow = now.task() != task || task.hindrance() != null;
        // A list of many locks may take long, and waits for no row.
        long writeNanos = mayWaitForRow ? longestWaitNanos() : briefWaitNanos();
        long usualNanos = now.task().writes() ? writeNanos : SILENCE_NANOS;
        return nanos > usualNanos ? "the database has not answered for " + millis : null;
    }

    /** No statement waits for a locked row this long, so a longer one meets a silent database. */
    private long longestWaitNanos() {
        return dialect.waitsBriefly() ? briefWaitNanos() * WAITS_OF_A_STATEMENT : SILENCE_NANOS;
    }

    /** The maximum wait for a row: a renewal that arrives meanwhile must not miss its time limit. */
    private long briefWaitNanos() {
        return Math.min(MAX_WAIT_NANOS, queue.shortestLimitNanos() / SHARE_FOR_WAITS);
    }

    /** Completes when the queue and all connections are closed. */
    CompletableFuture<Void> ended() {
        return ended;
    }

    @Override
    public void run() {
        try {
            while (takesOne()) {
                // Other tasks depend on this thread.
            }
        } finally {
            try {
                connections.close();
            } finally {
                ended.complete(null);
            }
        }
    }

    /** Carries out the next task, and survives any failure of it; returns false once the queue is closed. */
    private boolean takesOne() {
        try {
            Task<?> task = queue.take();
            if (task == null) {
                return false;
            }
            goOnWith(task);
        } catch (RuntimeException | Error e) {
            report("taking a task", e);
        }
        return true;
    }

    private void report(String what, Throwable e) {
        try {
            LOG.error("{} at {} failed unexpectedly; the thread continues", what, store, e);
        } catch (RuntimeException | Error unsaid) {
            // There may be no memory for the message. Other tasks depend on this thread nevertheless.
        }
    }

    /**
     * Carries out the task and answers it, whatever fails: tasks without a caller have no time limit, and a poll
     * repeats only after its answer.
     */
    private void goOnWith(Task<?> task) {
        boolean over = true;
        try {
            long beganAtNanos = runtime.nanoTime();
            over = carryOut(task);
            if (!over) {
                queue.putAside(task, pauseNanos(task, runtime.nanoTime() - beganAtNanos));
            }
        } catch (RuntimeException | Error e) {
            over = true;
            task.fail(
                    FailureKind.UNKNOWN,
                    new StoreUnavailableException(task.what() + " at " + store + " failed unexpectedly: " + e, e));
            report(task.what(), e);
        } finally {
            if (over) {
                queue.finished(task);
            }
        }
    }

    /**
     * The time that a task stands aside because another transaction is in the way. The first time it only lets others
     * go first; later it leaves them at least as much of the worker's time as it has used.
     */
    private long pauseNanos(Task<?> task, long tookNanos) {
        int pauses = task.tries() - 2;
        boolean lockedAsAWhole = dialect.transaction() instanceof Dialect.ByStatements;
        if (pauses <= 0 || lockedAsAWhole) {
            return 0;
        }
        return Math.max(tookNanos, Math.min(MAX_PAUSE_NANOS, MIN_PAUSE_NANOS << Math.min(pauses, 16)));
    }

    /** Carries out the task; returns whether it is over, or must be taken up again later. */
    private <R> boolean carryOut(Task<R> task) {
        if (!task.start()) {
            return true;
        }
        int restarts = 0;
        while (restarts <= MAX_RESTARTS) {
            Try result = new Attempt<>(task, restarts == 0).run();
            if (result == Try.ENDED) {
                return true;
            } else if (result == Try.AGAIN) {
                return !task.giveWay();
            }
            restarts++;
            if (!task.startAgain()) {
                return true;
            }
            if (queue.isClosed()) {
                break;
            }
        }
        String why = queue.isClosed() ? ": the store was closed" : ": connections to it keep breaking";
        task.fail(FailureKind.NO_EFFECT, new StoreUnavailableException(task.what() + " at " + store + why, null));
        return true;
    }

    /** The result of a try. */
    private enum Try {
        /** The task is over. */
        ENDED,
        /** Another transaction was in the way. */
        AGAIN,
        /** The connection did not lead to the store any more; a new one may. */
        MOVED
    }

    /** Runs one transaction for one task. */
    private final class Attempt<R> {

        private final Task<R> task;
        private final boolean mayReconnect;
        private boolean begun;
        private boolean committing;
        /** Whether the current step may be repeated. */
        private boolean repeatable;
        /** Whether the connection may be used again. */
        private boolean fit;

        private long quickSinceNanos;

        /**
         * Creates an attempt.
         *
         * @param mayReconnect whether a dead connection leads to another attempt
         */
        Attempt(Task<R> task, boolean mayReconnect) {
            this.task = task;
            this.mayReconnect = mayReconnect;
        }

        Try run() {
            LeaseTable table = null;
            boolean mayBeOutdated = connections.isOpen();
            try {
                waiting = new Waiting(task, true, runtime.nanoTime());
                // A task that only reads may read much, so its first reply may take longer.
                table = connections.take(task.writes() ? queue.shortestLimitNanos() : Long.MAX_VALUE);
                table.beforeEachStatement(() -> waiting = new Waiting(task, false, runtime.nanoTime()));
                waiting = new Waiting(task, false, runtime.nanoTime());
                return task.writes() ? write(table) : read(table);
            } catch (SQLException e) {
                return failed(table, e, mayBeOutdated);
            } catch (LockStoreException e) {
                Failure failure = SqlFailures.of(e);
                unreachable |= table == null && failure.kind() == FailureKind.NO_EFFECT;
                fit = table != null && rolledBack(table);
                task.fail(failure.kind(), failure.error());
                return Try.ENDED;
            } catch (RuntimeException | Error e) {
                if (table == null && e instanceof RuntimeException) {
                    return gaveNoConnection(e);
                } else if (table != null) {
                    // The connection may return to a pool, together with an open transaction and its row locks.
                    rolledBack(table);
                }
                throw e;
            } finally {
                waiting = null;
                if (table != null) {
                    table.beforeEachStatement(() -> {});
                    connections.putBack(table, !fit);
                }
            }
        }

        /** Fails the task, which was not begun, for what a data source or a driver threw undeclared. */
        private Try gaveNoConnection(Throwable e) {
            unreachable = true;
            String what = task.what() + " at " + store + ": no connection to the database could be opened (" + e + ")";
            task.fail(FailureKind.NO_EFFECT, new StoreUnavailableException(what, e));
            return Try.ENDED;
        }

        private Try read(LeaseTable table) throws SQLException {
            if (!connections.leadsToStoreForReads()) {
                return Try.MOVED;
            }
            return succeeded(task.run(table));
        }

        private Try write(LeaseTable table) throws SQLException {
            if (task.hasQuickWork() && mayBeQuick()) {
                Try quick = writeQuickly(table);
                if (quick == Try.ENDED) {
                    return quick;
                }
            }
            long soonMicros = runtime.wallMillis() * 1000 + HORIZON_MARGIN_MICROS;
            if (!table.isWithinHorizon(soonMicros)) {
                table.raiseHorizon(soonMicros, HORIZON_MICROS);
            }
            table.begin(waitNanos());
            begun = true;
            if (!connections.leadsToStore()) {
                LOG.warn("{} was moved or deleted while it was open; reopening it. Its holds are lost.", store);
                table.rollback();
                return Try.MOVED;
            }
            if (!task.passPointOfNoReturn()) {
                table.rollback();
                fit = true;
                return Try.ENDED;
            }
            R result = task.run(table);
            if (!table.isWithinHorizon(table.highestFence())) {
                long fence = table.highestFence();
                table.rollback();
                table.raiseHorizon(fence, HORIZON_MICROS);
                fit = true;
                return Try.AGAIN;
            }
            committing = true;
            table.commit();
            quickWasSilent &= !table.wroteRow();
            if (result == null) {
                // A renewal has met rows that another transaction has locked.
                task.hinderedBy(BUSY);
                fit = true;
                return Try.AGAIN;
            }
            return succeeded(result);
        }

        private boolean mayBeQuick() {
            return !quickWasSilent || runtime.nanoTime() - quickSilentSinceNanos >= QUICK_AGAIN_NANOS;
        }

        private long waitNanos() {
            return task.isPatient() && dialect.waitsBriefly() ? briefWaitNanos() : 0;
        }

        private Try writeQuickly(LeaseTable table) throws SQLException {
            if (!task.passPointOfNoReturn()) {
                fit = true;
                return Try.ENDED;
            }
            committing = true;
            repeatable = true;
            quickSinceNanos = runtime.nanoTime();
            R result = task.runQuickly(table, waitNanos());
            quickWasSilent = false;
            if (result != null) {
                return succeeded(result);
            }
            committing = false;
            repeatable = false;
            if (!task.startAgain()) {
                fit = true;
                return Try.ENDED;
            }
            return Try.AGAIN;
        }

        /** Whether the transaction was surely rolled back, and may succeed if it is repeated. */
        private boolean isInTheWay(SqlTrouble trouble, SQLException e) {
            return trouble == SqlTrouble.CONTENTION
                    || e instanceof RowLockedException
                    || (trouble == SqlTrouble.INTERRUPTED && task.writes() && (!committing || repeatable));
        }

        private Try succeeded(@Nullable R result) {
            fit = true;
            task.succeed(Objects.requireNonNull(result, "result"));
            if (unreachable) {
                unreachable = false;
                reachableAgain.run();
            }
            return Try.ENDED;
        }

        private Try failed(@Nullable LeaseTable table, SQLException e, boolean mayBeOutdated) {
            SqlTrouble told = dialect.troubles().apply(e);
            // Pools report in their own words that they have no connection to lend.
            SqlTrouble trouble = table == null && told == SqlTrouble.OTHER ? SqlTrouble.UNREACHABLE : told;
            if (isInTheWay(trouble, e)) {
                fit = table != null && (!begun || rolledBack(table));
                task.hinderedBy(trouble == SqlTrouble.INTERRUPTED ? "the database cancelled its last statement" : BUSY);
                if (task.rank() != Task.Rank.HOUSEKEEPING) {
                    return Try.AGAIN;
                }
                Failure failure = SqlFailures.of(SqlTrouble.CONTENTION, task.what(), store, e);
                task.fail(failure.kind(), failure.error());
                return Try.ENDED;
            }
            unreachable |= trouble == SqlTrouble.UNREACHABLE;
            long nowNanos = runtime.nanoTime();
            if (repeatable && trouble == SqlTrouble.UNREACHABLE && nowNanos - quickSinceNanos > MAX_WAIT_NANOS) {
                quickWasSilent = true;
                quickSilentSinceNanos = nowNanos;
            }
            fit = trouble != SqlTrouble.UNREACHABLE
                    && trouble != SqlTrouble.DAMAGED
                    && trouble != SqlTrouble.READ_ONLY
                    && table != null
                    && rolledBack(table);
            // A connection may have been dead for long, or still lead to a server that is no longer the primary.
            boolean newOneMayDo =
                    trouble == SqlTrouble.UNREACHABLE || (trouble == SqlTrouble.READ_ONLY && mayBeOutdated);
            if (newOneMayDo && table != null && (!committing || repeatable) && mayReconnect) {
                if (committing && trouble == SqlTrouble.UNREACHABLE) {
                    task.answerWasLost();
                }
                return Try.MOVED;
            }
            Failure failure = SqlFailures.of(trouble, task.what(), store, e);
            // A single statement that returns an error had no effect; a commit that fails may have had one.
            boolean mayHaveCommitted =
                    committing && trouble != SqlTrouble.FULL && (!repeatable || trouble == SqlTrouble.UNREACHABLE);
            boolean mayPass = trouble == SqlTrouble.ACCESS && table == null && connections.loginMayChange();
            FailureKind kind = mayPass ? FailureKind.NO_EFFECT : failure.kind();
            task.fail(mayHaveCommitted ? FailureKind.UNKNOWN : kind, failure.error());
            return Try.ENDED;
        }
    }

    /** Ends a failed transaction; returns whether the connection can be used for the next one. */
    private static boolean rolledBack(LeaseTable table) {
        try {
            table.forgetStatements();
            return table.rollbackIfActive();
        } catch (SQLException e) {
            return false;
        }
    }
}
