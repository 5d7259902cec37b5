package io.leasehold.jdbc.store;

import io.leasehold.spi.LockRuntime;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection, kept open and opened anew when it broke: what keeps and ends holds never waits for a pool that others have
 * emptied.
 *
 * <p>{@link #take}, {@link #putBack} and {@link #close} belong to the worker's thread, and the rest to any. All fields are
 * guarded by {@code this}; connections are opened and closed outside of it.
 */
public final class KeptConnection {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold.jdbc");

    /** A connection that was not needed for so long is given back. */
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
         * Opens one and checks what it finds.
         *
         * @throws io.leasehold.LockStoreException if that may not be used
         */
        LeaseTable open() throws SQLException;

        /** Opens one, and gives up after so long where that is possible. */
        default LeaseTable open(long withinNanos) throws SQLException {
            return open();
        }

        /** Whether a log-in that is refused now may be accepted later, with other credentials. */
        default boolean loginMayChange() {
            return false;
        }

        /** Whether the connection opened last leads to where one opened now would. */
        boolean leadsToStore();

        /** No more are wanted. */
        default void close() {}
    }

    /**
     * How long the worker waits for a connection, and for each answer over it, before it counts as silent.
     *
     * @param leastNanos longer than any statement may wait for a row
     * @param mostNanos leaves time for another connection within the time limit of a request with ordinary options
     */
    public record Patience(long leastNanos, long mostNanos) {
        /** Files answer, or the operating system says why not. */
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
        this.open = opener.open();
    }

    /** A file, opened at once and kept open. */
    public static KeptConnection toFile(Opener opener) throws SQLException {
        return new KeptConnection(opener, null, Patience.ENDLESS);
    }

    /** A connection of one's own to a server, opened at once and kept open. */
    public static KeptConnection own(Opener opener, Patience patience) throws SQLException {
        return new KeptConnection(opener, null, patience);
    }

    /** A connection of a pool, opened at once, and given back while nobody needs it. */
    public static KeptConnection borrowed(Opener opener, Patience patience, LockRuntime runtime) throws SQLException {
        KeptConnection kept = new KeptConnection(opener, runtime, patience);
        return kept.orClose(() -> {
            kept.needFor(0);
            kept.look();
            return kept;
        });
    }

    /** The result of what is to use the connection, which is closed if that fails. */
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

    /** A hold may last so long from now on: the connection that keeps it and ends it is not given back before. */
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
     * @param limitNanos the shortest time limit of those who count on it
     * @throws io.leasehold.LockStoreException if what it leads to may not be used
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

    /** Bounds the waiting for answers; a connection that says now that it is closed is ended. */
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

    /** Whether what is at the other end may fall silent, which a file does not. */
    boolean mayFallSilent() {
        return patience.mostNanos() != Long.MAX_VALUE;
    }

    /** Whether a connection is open that has been used before. */
    synchronized boolean isOpen() {
        return open != null;
    }

    /** Whether the connection leads to where it should; asked inside a writing transaction. */
    boolean leadsToStore() {
        return opener.leadsToStore();
    }

    /**
     * Ends the use of a connection.
     *
     * @param broken whether it is not to be used again
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

    /** Gives the connection back if nobody needs it, and else looks again when that may be. */
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

    /** The database may have to be asked for that, and the timer's thread must not wait. */
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

    /** Closes what is open. Called when no connection is taken. */
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
