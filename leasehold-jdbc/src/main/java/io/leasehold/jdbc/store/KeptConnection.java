package io.leasehold.jdbc.store;

import io.leasehold.spi.LockRuntime;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection that is kept open, and reopened after it breaks: renewals and releases never wait for an exhausted
 * pool.
 *
 * <p>{@link #take}, {@link #putBack} and {@link #close} belong to the worker's thread, and the rest to any. All fields are
 * guarded by {@code this}; connections are opened and closed outside of it.
 */
public final class KeptConnection {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold.jdbc");

    /** An unused connection is returned after this time. */
    private static final long IDLE_NANOS = 30_000_000_000L;

    private final Opener opener;
    private final @Nullable LockRuntime lender;
    private final Patience patience;

    private @Nullable LeaseTable open;
    private long neededUntilAtNanos;
    private boolean looks;
    private boolean closed;

    /** Opens connections to one store. */
    public interface Opener {
        /**
         * Opens a connection and checks the database behind it.
         *
         * @throws io.leasehold.LockStoreException if the database must not be used
         */
        LeaseTable open() throws SQLException;

        /** Opens a connection; gives up after this time if that is possible. */
        default LeaseTable open(long withinNanos) throws SQLException {
            return open();
        }

        /** Whether a log-in that is refused now may be accepted later, with other credentials. */
        default boolean loginMayChange() {
            return false;
        }

        /** Whether the connection that was opened last leads to the same place as a new one would. */
        boolean leadsToStore();

        /** As {@link #leadsToStore}, before a read; true if reads need not know. */
        default boolean leadsToStoreForReads() {
            return true;
        }

        /** No further connections are needed. */
        default void close() {}
    }

    /**
     * The time that the worker waits for a connection, and for each reply over it, before it counts as silent.
     *
     * @param leastNanos longer than any statement may wait for a row
     * @param mostNanos leaves time for another connection within the time limit of a request with default options
     */
    public record Patience(long leastNanos, long mostNanos) {
        /** A file replies, or the operating system reports an error. */
        static final Patience ENDLESS = new Patience(Long.MAX_VALUE, Long.MAX_VALUE);

        /** The patience within the time limit of a request. */
        long of(long limitNanos) {
            return Math.max(leastNanos, Math.min(mostNanos, limitNanos));
        }
    }

    private KeptConnection(Opener opener, @Nullable LockRuntime lender, Patience patience) throws SQLException {
        this.opener = opener;
        this.lender = lender;
        this.patience = patience;
        try {
            this.open = opener.open();
        } catch (SQLException | RuntimeException | Error e) {
            // A connection may still be on its way, after an interrupted wait for it.
            opener.close();
            throw e;
        }
    }

    /** Keeps a connection to a file, opened at once. */
    public static KeptConnection toFile(Opener opener) throws SQLException {
        return new KeptConnection(opener, null, Patience.ENDLESS);
    }

    /** Keeps a connection to a server that belongs to the store, opened at once. */
    public static KeptConnection own(Opener opener, Patience patience) throws SQLException {
        return new KeptConnection(opener, null, patience);
    }

    /** Keeps a connection of a pool, opened at once, and returned while it is not needed. */
    public static KeptConnection borrowed(Opener opener, Patience patience, LockRuntime runtime) throws SQLException {
        KeptConnection kept = new KeptConnection(opener, runtime, patience);
        return kept.orClose(() -> {
            kept.needFor(0);
            kept.look();
            return kept;
        });
    }

    /**
     * Returns the result of the function that is to use the connection; closes the connection if the function fails.
     */
    public <T> T orClose(Supplier<T> start) {
        try {
            return start.get();
        } catch (RuntimeException | Error e) {
            close();
            throw e;
        }
    }

    /** Whether a log-in that is refused now may be accepted later. */
    boolean loginMayChange() {
        return opener.loginMayChange();
    }

    /**
     * Notes that a hold may last this long from now on: the connection that renews and ends it is not returned before.
     */
    void needFor(long nanos) {
        LockRuntime runtime = lender;
        if (runtime == null) {
            return;
        }
        long idleAtNanos = runtime.nanoTime() + Math.min(nanos, Long.MAX_VALUE / 4) + IDLE_NANOS;
        synchronized (this) {
            if (neededUntilAtNanos == 0 || idleAtNanos - neededUntilAtNanos > 0) {
                neededUntilAtNanos = idleAtNanos;
            }
        }
    }

    /**
     * A connection to the lease table, in auto-commit mode.
     *
     * @param limitNanos the shortest time limit of the callers that depend on it
     * @throws io.leasehold.LockStoreException if the database behind it must not be used
     */
    LeaseTable take(long limitNanos) throws SQLException {
        needFor(0);
        long patient = patience.of(limitNanos);
        LeaseTable table;
        synchronized (this) {
            table = open;
            open = null;
        }
        if (table != null && isBounded(table, patient)) {
            return table;
        }
        table = opener.open(patient);
        if (!isBounded(table, patient)) {
            throw new SQLTransientConnectionException("the connection was closed as soon as it was opened", "08003");
        }
        return table;
    }

    /** Bounds the wait for replies; ends a connection that turns out to be closed. */
    private boolean isBounded(LeaseTable table, long nanos) {
        if (!mayFallSilent()) {
            return true;
        }
        boolean bounded = false;
        try {
            table.loan().answerWithin(nanos);
            bounded = true;
        } catch (SQLException e) {
            LOG.debug("a connection was closed while it was kept", e);
        } finally {
            if (!bounded) {
                table.discard();
            }
        }
        return bounded;
    }

    /** Whether the other end may fall silent, which a file does not. */
    boolean mayFallSilent() {
        return patience.mostNanos() != Long.MAX_VALUE;
    }

    /** Whether a connection is open that was used before. */
    synchronized boolean isOpen() {
        return open != null;
    }

    /** Whether the connection leads to the right store; asked inside a writing transaction. */
    boolean leadsToStore() {
        return opener.leadsToStore();
    }

    /** Whether a read may use the connection. */
    boolean leadsToStoreForReads() {
        return opener.leadsToStoreForReads();
    }

    /**
     * Ends the use of a connection.
     *
     * @param broken whether it must not be used again
     */
    void putBack(LeaseTable table, boolean broken) {
        if (broken) {
            table.discard();
            return;
        }
        synchronized (this) {
            open = table;
        }
        look();
    }

    /** Returns the connection if it is not needed; otherwise checks again when that may have changed. */
    private void look() {
        LockRuntime runtime = lender;
        LeaseTable idle = null;
        synchronized (this) {
            if (runtime == null || open == null || looks || closed) {
                return;
            }
            long leftNanos = neededUntilAtNanos - runtime.nanoTime();
            if (leftNanos > 0) {
                runtime.schedule(leftNanos, this::lookAgain);
                looks = true;
            } else {
                idle = open;
                open = null;
            }
        }
        if (idle != null) {
            giveBackElsewhere(idle, runtime);
        }
    }

    /** On another thread: returning may need the database, and the timer's thread must not wait. */
    static void giveBackElsewhere(LeaseTable unneeded, LockRuntime runtime) {
        try {
            runtime.startThread("leasehold-jdbc-close", unneeded::giveBack);
        } catch (OutOfMemoryError noThread) {
            unneeded.discard();
        }
    }

    private void lookAgain() {
        synchronized (this) {
            looks = false;
        }
        look();
    }

    /** Closes the connection if it is open. Called when no connection is taken. */
    void close() {
        opener.close();
        LeaseTable table;
        synchronized (this) {
            closed = true;
            table = open;
            open = null;
        }
        if (table != null) {
            table.giveBack();
        }
    }
}
