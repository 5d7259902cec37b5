package io.leasehold.jdbc.store;

import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.SqlTrouble;
import io.leasehold.jdbc.lease.StoreTime;
import io.leasehold.spi.FailureKind;
import java.sql.SQLException;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one thread that talks to the database: takes tasks from the queue and carries out each in a transaction of its
 * own.
 *
 * <p>It waits for locks only inside the database, in short spans, and between them looks whether anybody still waits
 * for the task.
 */
final class Worker implements Runnable {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold.jdbc");

    /** Tries after which a store that keeps moving, or a transaction that keeps failing, is given up. */
    private static final int MOST_RESTARTS = 5;

    private final WorkQueue queue;
    private final Connections connections;
    private final StoreClock clock;
    private final Dialect dialect;
    private final String store;
    private final CompletableFuture<Void> ended = new CompletableFuture<>();

    Worker(WorkQueue queue, Connections connections, StoreClock clock, Dialect dialect, String store) {
        this.queue = queue;
        this.connections = connections;
        this.clock = clock;
        this.dialect = dialect;
        this.store = store;
    }

    /** Completes when the queue is closed and all connections are. */
    CompletableFuture<Void> ended() {
        return ended;
    }

    @Override
    public void run() {
        try {
            for (Task<?> task = queue.take(); task != null; task = queue.take()) {
                carryOut(task);
                queue.finished(task);
            }
        } finally {
            connections.close();
            ended.complete(null);
        }
    }

    private <R> void carryOut(Task<R> task) {
        if (!task.start()) {
            return;
        }
        try {
            int restarts = 0;
            while (restarts <= MOST_RESTARTS) {
                Try result = attempt(task);
                if (result == Try.ENDED) {
                    return;
                }
                if (result == Try.MOVED) {
                    restarts++;
                }
                if (!task.startAgain()) {
                    return;
                }
                if (queue.isClosed()) {
                    break;
                }
            }
            String why = queue.isClosed() ? ": the store was closed" : ": its file keeps being moved or deleted";
            task.fail(FailureKind.NO_EFFECT, new StoreUnavailableException(task.what() + " at " + store + why, null));
        } catch (RuntimeException | Error e) {
            LOG.error("{} at {} failed unexpectedly", task.what(), store, e);
            task.fail(
                    FailureKind.UNKNOWN,
                    new StoreUnavailableException(task.what() + " at " + store + " failed unexpectedly: " + e, e));
        }
    }

    /** How a try ended. */
    private enum Try {
        /** The task is over. */
        ENDED,
        /** Another transaction was in the way. */
        AGAIN,
        /** The connection no longer led to the store, or what was read had changed. */
        MOVED
    }

    private <R> Try attempt(Task<R> task) {
        LeaseTable table = null;
        boolean broken = true;
        boolean committing = false;
        try {
            table = connections.take();
            if (!task.writes()) {
                task.succeed(task.run(table, clock.read(table)));
                broken = false;
                return Try.ENDED;
            }
            StoreTime before = clock.isReadBeforeTransaction() ? clock.read(table) : null;
            table.begin();
            if (!connections.leadsToStore()) {
                LOG.warn("{} was moved or deleted while it was open; opening it anew. Holds it kept are lost.", store);
                table.rollback();
                return Try.MOVED;
            }
            if (!task.passPointOfNoReturn()) {
                table.rollback();
                broken = false;
                return Try.ENDED;
            }
            R result = task.run(table, before != null ? before : clock.read(table));
            committing = true;
            table.commit();
            broken = false;
            task.succeed(result);
            return Try.ENDED;
        } catch (SQLException e) {
            SqlTrouble trouble = dialect.troubles().apply(e);
            broken = !rolledBack(table) || trouble == SqlTrouble.UNREACHABLE || trouble == SqlTrouble.DAMAGED;
            if (trouble == SqlTrouble.CONTENTION) {
                return Try.AGAIN;
            }
            Failure failure = Failure.of(trouble, task.what(), store, e);
            boolean mayHaveCommitted = committing && trouble != SqlTrouble.FULL;
            task.fail(mayHaveCommitted ? FailureKind.UNKNOWN : failure.kind(), failure.error());
            return Try.ENDED;
        } catch (LockStoreException e) {
            Failure failure = Failure.of(e);
            task.fail(failure.kind(), failure.error());
            return Try.ENDED;
        } finally {
            if (table != null) {
                connections.putBack(table, broken);
            }
        }
    }

    /** Whether the connection is fit for the next transaction. */
    private static boolean rolledBack(@Nullable LeaseTable table) {
        if (table == null) {
            return true;
        }
        try {
            table.rollback();
            return true;
        } catch (SQLException e) {
            // SQLite has rolled back by itself where it says that no transaction is active.
            return String.valueOf(e.getMessage()).contains("no transaction is active");
        }
    }
}
