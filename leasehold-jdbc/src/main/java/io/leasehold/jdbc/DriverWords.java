package io.leasehold.jdbc;

import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.Locale;
import java.util.Set;

/** Errors of drivers and pools while a connection is opened: one that quotes a JDBC URL may quote a password with it. */
final class DriverWords {

    private static final String HIDDEN =
            "the driver's words are not repeated, since they quote the URL of the connection";

    private DriverWords() {}

    /** The same error; without all that it said, if that quotes a URL anywhere. */
    static SQLException withoutUrl(SQLException e) {
        return quotesUrl(e) ? new SQLException(HIDDEN, e.getSQLState(), e.getErrorCode()) : e;
    }

    /** The same for pools, which wrap what a driver says. */
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
