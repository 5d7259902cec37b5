package io.leasehold.jdbc.store;

import io.leasehold.LockName;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.jdbc.lease.LeaseRow.Held;
import io.leasehold.jdbc.lease.LeaseRow.Waiter;
import io.leasehold.spi.OwnerToken;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/**
 * The order of a row's columns, the same in every dialect.
 *
 * @param withLives whether the life of the holder comes last
 */
record RowColumns(boolean withLives) {

    /** The number of columns, including the name. */
    int count() {
        return withLives ? 12 : 11;
    }

    /** Sets all columns but the name; returns the index of the next parameter. */
    int bind(PreparedStatement statement, int from, LeaseRow row) throws SQLException {
        Held held = row.held();
        Waiter waiter = row.waiter();
        int at = from;
        statement.setString(at++, row.origin());
        statement.setString(at++, held == null ? null : held.owner().hex());
        statement.setString(at++, held == null ? null : held.holderId());
        statement.setLong(at++, held == null ? 0 : held.expiresAtNanos());
        statement.setLong(at++, held == null ? 0 : held.ttlNanos());
        statement.setLong(at++, held == null ? 0 : held.token());
        statement.setString(at++, waiter == null ? null : waiter.owner().hex());
        statement.setLong(at++, since(waiter));
        statement.setLong(at++, row.freedAtNanos());
        statement.setLong(at++, row.fence());
        if (withLives) {
            statement.setString(at++, held == null ? null : held.life());
        }
        return at;
    }

    /** The row at the current position of the result. */
    LeaseRow row(ResultSet result, LockName name) throws SQLException {
        String owner = result.getString(3);
        Held held = owner == null
                ? null
                : new Held(
                        token(owner),
                        holder(result.getString(4)),
                        result.getLong(5),
                        result.getLong(6),
                        result.getLong(7),
                        withLives ? result.getString(12) : null);
        String waiting = result.getString(8);
        Waiter waiter = waiting == null ? null : waiter(token(waiting), result.getLong(9));
        return new LeaseRow(name, result.getString(2), held, waiter, result.getLong(10), result.getLong(11));
    }

    /** The time since when it waits, as it is stored: negative for a reader. */
    static long since(@Nullable Waiter waiter) {
        if (waiter == null) {
            return 0;
        }
        return waiter.reads() ? -waiter.sinceNanos() : waiter.sinceNanos();
    }

    private static Waiter waiter(OwnerToken owner, long since) {
        return new Waiter(owner, Math.abs(since), since < 0);
    }

    static String holder(@Nullable String stored) {
        return stored == null ? "unknown" : stored;
    }

    static OwnerToken token(String hex) throws SQLException {
        try {
            return OwnerToken.fromHex(hex);
        } catch (IllegalArgumentException e) {
            throw new SQLException("the lease table holds an owner token that is none: " + e.getMessage(), e);
        }
    }
}
