package io.leasehold.jdbc.store;

import io.leasehold.jdbc.dialect.Dialect;
import java.sql.Connection;
import java.sql.SQLException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A connection that is used for a while and returned in its original state. Used by one thread at a time.
 *
 * <p>During its use the connection is in auto-commit mode and may write, and the driver's wait for a reply can be
 * limited.
 */
public final class Loan {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold.jdbc");

    /** The value for a driver that cannot limit its waits. */
    private static final int UNBOUNDED = -1;

    private final Connection connection;
    private final Dialect.Tuning tuning;
    private final boolean cameInAutoCommit;
    private final boolean cameReadOnly;
    private final int cameTuned;
    private final int cameWithMillis;
    private int millis;

    private Loan(Connection connection, Dialect.Tuning tuning, long answerNanos) throws SQLException {
        this.connection = connection;
        this.tuning = tuning;
        this.cameWithMillis = networkTimeout(connection);
        this.millis = cameWithMillis;
        if (answerNanos != Long.MAX_VALUE) {
            answerWithin(answerNanos);
        }
        this.cameInAutoCommit = connection.getAutoCommit();
        if (!cameInAutoCommit) {
            connection.rollback();
            connection.setAutoCommit(true);
        }
        this.cameReadOnly = connection.isReadOnly();
        if (cameReadOnly) {
            // Some drivers only mind it within transactions: such a connection would acquire, and never release.
            connection.setReadOnly(false);
        }
        this.cameTuned = tuning.begin(connection);
    }

    /** Begins to use the connection; closes it if that fails. */
    public static Loan begin(Connection connection, Dialect.Tuning tuning) throws SQLException {
        return begin(connection, tuning, Long.MAX_VALUE);
    }

    /** The same with a limit on the wait for each reply: {@link #answerWithin}. */
    public static Loan begin(Connection connection, Dialect.Tuning tuning, long answerNanos) throws SQLException {
        try {
            return new Loan(connection, tuning, answerNanos);
        } catch (SQLException | RuntimeException | Error e) {
            discard(connection);
            throw e;
        }
    }

    /** The connection itself, which the caller must not close. */
    public Connection connection() {
        return connection;
    }

    /**
     * Limits the driver's wait for each reply from now on; after the limit the connection is broken. A shorter limit
     * that the connection already had stays.
     */
    public void answerWithin(long nanos) throws SQLException {
        int wanted = (int) Math.max(1, Math.min(Integer.MAX_VALUE, nanos / 1_000_000));
        if (cameWithMillis == UNBOUNDED) {
            return;
        }
        int bound = cameWithMillis > 0 ? Math.min(cameWithMillis, wanted) : wanted;
        if (bound != millis) {
            connection.setNetworkTimeout(Runnable::run, bound);
            millis = bound;
        }
    }

    /** Drivers and pools without this feature report that in different ways. */
    private static int networkTimeout(Connection connection) {
        try {
            return Math.max(0, connection.getNetworkTimeout());
        } catch (SQLException | RuntimeException | AbstractMethodError e) {
            LOG.debug("this driver cannot limit its wait for a reply: set a socket timeout in its URL", e);
            return UNBOUNDED;
        }
    }

    /** Returns the connection in its original state. */
    public void giveBack() {
        try {
            tuning.end(connection, cameTuned);
            if (millis != cameWithMillis) {
                connection.setNetworkTimeout(Runnable::run, cameWithMillis);
            }
            if (cameReadOnly) {
                connection.setReadOnly(true);
            }
            if (connection.getAutoCommit() != cameInAutoCommit) {
                connection.setAutoCommit(cameInAutoCommit);
            }
            connection.close();
        } catch (SQLException | RuntimeException e) {
            LOG.debug("returning a connection failed", e);
            discard();
        }
    }

    /** Ends a connection that neither a pool nor another borrower may use again. */
    public void discard() {
        discard(connection);
    }

    private static void discard(Connection connection) {
        try {
            // Closing a connection of a pool would only return it.
            connection.abort(Runnable::run);
        } catch (SQLException | RuntimeException | AbstractMethodError e) {
            LOG.debug("ending a connection failed", e);
        }
        try {
            connection.close();
        } catch (SQLException | RuntimeException e) {
            LOG.debug("closing a connection failed", e);
        }
    }
}
