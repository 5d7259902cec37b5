package io.leasehold.jdbc.dialect;

import java.sql.SQLException;

/** The meaning of a database's error for a lock request. */
public enum SqlTrouble {
    /** Another transaction is in the way: retry. */
    CONTENTION,
    /** A limit of the database, or an administrator, ended the statement: retry. */
    INTERRUPTED,
    /** The database has no room to write. */
    FULL,
    /** A right is missing. */
    ACCESS,
    /** The database, or this server of it, can only be read. */
    READ_ONLY,
    /** The data is damaged, or there is no lease table. */
    DAMAGED,
    /** The file or the server cannot be reached, or the connection is broken. */
    UNREACHABLE,
    /** Anything else. */
    OTHER;

    /**
     * The first line of the message of the database or its driver; the other lines are statements and positions. Without the
     * number of the connection that MariaDB's driver puts in front: one reason has one text.
     */
    public static String firstLine(SQLException error) {
        return String.valueOf(error.getMessage())
                .lines()
                .findFirst()
                .orElse("no message")
                .strip()
                .replaceFirst("\\(conn=\\d+\\) ", "");
    }
}
