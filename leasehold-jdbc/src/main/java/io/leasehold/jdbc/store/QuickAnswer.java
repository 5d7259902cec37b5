package io.leasehold.jdbc.store;

import io.leasehold.jdbc.lease.LeaseRow.Held;
import io.leasehold.spi.AcquireRequest;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/**
 * The answer of one statement to a request for one lock.
 *
 * @param granted whether the requesting client holds the lock, since now
 * @param held the hold, or null if the lock is free but kept for a waiter
 * @param lastToken the end of the granted range; meaningless otherwise
 * @param waited whether a waiter is noted
 * @param leftNanos until the end of the hold
 */
record QuickAnswer(boolean granted, @Nullable Held held, long lastToken, boolean waited, long leftNanos) {

    /** Sets the parameters of {@link io.leasehold.jdbc.dialect.Dialect.Leases#acquire()}. */
    static void bind(PreparedStatement statement, AcquireRequest request, String longestWait) throws SQLException {
        statement.setString(1, longestWait);
        statement.setString(2, request.name().text());
        statement.setString(3, request.owner().hex());
        statement.setString(4, request.holderId());
        statement.setLong(5, request.ttlNanos());
        statement.setLong(6, request.seenToken() + 1);
        statement.setLong(7, request.reserve() - 1);
    }

    /** Reads the answer. */
    static QuickAnswer of(ResultSet row) throws SQLException {
        String owner = row.getString(1);
        Held held = owner == null
                ? null
                : new Held(
                        RowColumns.token(owner),
                        RowColumns.holder(row.getString(2)),
                        row.getLong(3),
                        row.getLong(4),
                        row.getLong(5),
                        null);
        long leftNanos = row.getLong(3) - row.getLong(8) * 1000;
        return new QuickAnswer(row.getBoolean(9), held, row.getLong(6), row.getString(7) != null, leftNanos);
    }
}
