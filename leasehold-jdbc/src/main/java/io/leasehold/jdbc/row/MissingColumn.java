package io.leasehold.jdbc.row;

import java.sql.SQLException;
import java.sql.SQLSyntaxErrorException;

/** The error of a statement that names a column which the table does not have. */
public final class MissingColumn {

    private static final String OF_POSTGRESQL = "42703";
    private static final String OF_H2_MARIADB_AND_MYSQL = "42S22";
    private static final String OF_SQLITE = "no such column";

    private MissingColumn() {}

    /**
     * Returns an error that also contains the statements which add the columns, if a column is missing; otherwise returns
     * the error itself.
     *
     * @param what the request, for messages
     */
    public static SQLException orOther(SQLException e, FencingColumns columns, String what) {
        if (!isMeantBy(e)) {
            return e;
        }
        // All of them: no database names more than the first that is missing, and some drivers repeat the statement.
        String additions = String.join("; ", columns.additions());
        return new SQLSyntaxErrorException(
                what + ": the table lacks a column of its guard; roll back, and execute those of these statements whose"
                        + " column is missing: " + additions + " (" + e.getMessage() + ")",
                e.getSQLState(),
                e.getErrorCode(),
                e);
    }

    private static boolean isMeantBy(SQLException e) {
        String state = e.getSQLState();
        return state == null
                ? String.valueOf(e.getMessage()).contains(OF_SQLITE)
                : state.equals(OF_POSTGRESQL) || state.equals(OF_H2_MARIADB_AND_MYSQL);
    }
}
