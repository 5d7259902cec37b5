package io.leasehold.verify.sql;

import io.leasehold.jdbc.SqlDialect;
import java.sql.SQLException;

/** The differences between the databases that matter to a lease table. */
enum Flavour {
    /**
     * Waits for rows as long as instructed; each statement sees everything committed before it; time passes within a
     * transaction.
     */
    POSTGRESQL(SqlDialect.POSTGRESQL, "PostgreSQL", true, false, false, false),
    /**
     * Never waits; a transaction sees everything committed before its first plain read, but writes meet a row that
     * another transaction is creating.
     */
    MARIADB(SqlDialect.MARIADB, "MariaDB", false, true, true, false),
    /** Never waits; each statement sees everything committed before it; time stands still within a transaction. */
    H2(SqlDialect.H2, "H2", false, false, false, true);

    final SqlDialect dialect;
    final String product;
    final boolean waits;
    final boolean readsFromSnapshot;
    final boolean writesMeetRowsBeingMade;
    final boolean timeStandsStill;

    Flavour(
            SqlDialect dialect,
            String product,
            boolean waits,
            boolean readsFromSnapshot,
            boolean writesMeetRowsBeingMade,
            boolean timeStandsStill) {
        this.dialect = dialect;
        this.product = product;
        this.waits = waits;
        this.readsFromSnapshot = readsFromSnapshot;
        this.writesMeetRowsBeingMade = writesMeetRowsBeingMade;
        this.timeStandsStill = timeStandsStill;
    }

    /** The reasons for which the model refuses a statement. */
    enum Refusal {
        LOCKED,
        DUPLICATE,
        ABORTED,
        NO_RIGHT
    }

    SQLException error(Refusal refusal) {
        String state = switch (refusal) {
            case LOCKED -> "55P03";
            case DUPLICATE -> "23505";
            case ABORTED -> "25P02";
            case NO_RIGHT -> "42501";
        };
        int code = switch (refusal) {
            case LOCKED -> this == MARIADB ? 1205 : 50200;
            case DUPLICATE -> this == MARIADB ? 1062 : 23505;
            case ABORTED -> 0;
            case NO_RIGHT -> this == MARIADB ? 1142 : 90096;
        };
        return new SQLException("the model refuses: " + refusal, state, code);
    }

    /** The error of a driver for a connection that has ended. */
    static SQLException lost() {
        return new SQLException("the connection is broken", "08006");
    }
}
