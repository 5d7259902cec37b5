package io.leasehold.jdbc.store;

import io.leasehold.jdbc.dialect.Dialect;
import java.sql.Connection;
import java.sql.SQLException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A connection while it is used here: it goes back as it came. Used by one thread at a time.
 *
 * <p>While it is used it is in auto-commit mode, and a bound on the driver's waiting for an answer can be set.
 */
public final class Loan {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold.jdbc");

    /** The answer of a driver that cannot bound its waiting. */
    private static final int UNBOUNDED = -1;

    private final Connection connection;
    private final Dialect.Tuning tuning;
    private final boolean cameInAutoCommit;
    private final int cameTuned;
    private final int cameWithMillis;
    private int millis;

    private Loan(Connection connection, Dialect.Tuning tuning) throws SQLException {
        this.connection = connection;
        this.tuning = tuning;
        this.cameWithMillis = networkTimeout(connection);
        this.millis = cameWithMillis;
        this.cameInAutoCommit = connection.getAutoCommit();
        if (!cameInAutoCommit) {
            connection.rollback();
            connection.setAutoCommit(true);
        }
        this.cameTuned = tuning.begin(connection);
    }

    /** Begins to use the connection, which is closed if that fails. */
    public static Loan begin(Connection connection, Dialect.Tuning tuning) throws SQLException {
        try {
            return new Loan(connection, tuning);
        } catch (SQLException | RuntimeException | Error e) {
            discard(connection);
            throw e;
        }
    }

    /** The connection itself, not to be closed. */
    public Connection connection() {
        return connection;
    }

    /**
     * Bounds the driver's waiting for each answer from now on, after which the connection is broken; a shorter bound that it
     * came with stays.
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

    /** Drivers and pools that cannot do it say so in different ways. */
    private static int networkTimeout(Connection connection) {
        try {
            return Math.max(0, connection.getNetworkTimeout());
        } catch (SQLException | RuntimeException | AbstractMethodError e) {
            LOG.debug("this driver cannot bound its waiting for an answer: set a socket timeout in its URL", e);
            return UNBOUNDED;
        }
    }

    /** Ends the use, with the connection as it came. */
    public void giveBack() {
        try {
            tuning.end(connection, cameTuned);
            if (millis != cameWithMillis) {
                connection.setNetworkTimeout(Runnable::run, cameWithMillis);
            }
            if (connection.getAutoCommit() != cameInAutoCommit) {
                connection.setAutoCommit(cameInAutoCommit);
            }
            connection.close();
        } catch (SQLException | RuntimeException e) {
            LOG.debug("giving a connection back failed", e);
            discard();
        }
    }

    /** Ends a connection that must not be used again, neither by a pool nor by another borrower. */
    public void discard() {
        discard(connection);
    }

    private static void discard(Connection connection) {
        try {
            // Closing a connection that is a pool's would only give it back.
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
