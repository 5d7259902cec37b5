package io.leasehold.jdbc;

import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.Locale;
import java.util.Set;

/**
 * Errors of drivers and pools while a connection is opened: an error that quotes a JDBC URL may quote a password with
 * it.
 */
final class DriverWords {

    private static final String HIDDEN =
            "the driver's message is not repeated, since it quotes the URL of the connection";

    private DriverWords() {}

    /** Returns the error, or one without its text if that text quotes a URL anywhere. */
    static SQLException withoutUrl(SQLException e) {
        return quotesUrl(e) ? new SQLException(HIDDEN, e.getSQLState(), e.getErrorCode()) : e;
    }

    /** As {@link #withoutUrl(SQLException)}, for pools, which wrap the errors of drivers. */
    static RuntimeException withoutUrl(RuntimeException e) {
        return quotesUrl(e) ? new IllegalStateException(e.getClass().getName() + ": " + HIDDEN) : e;
    }

    private static boolean quotesUrl(Throwable error) {
        Set<Throwable> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        Deque<Throwable> open = new ArrayDeque<>();
        open.add(error);
        while (!open.isEmpty()) {
            Throwable next = open.remove();
            if (!seen.add(next)) {
                continue;
            }
            if (String.valueOf(next.getMessage()).toLowerCase(Locale.ROOT).contains("jdbc:")) {
                return true;
            }
            Collections.addAll(open, next.getSuppressed());
            if (next.getCause() != null) {
                open.add(next.getCause());
            }
            if (next instanceof SQLException chained && chained.getNextException() != null) {
                open.add(chained.getNextException());
            }
        }
        return false;
    }
}
