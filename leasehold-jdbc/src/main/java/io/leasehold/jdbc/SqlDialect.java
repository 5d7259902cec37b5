package io.leasehold.jdbc;

import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.H2Dialect;
import io.leasehold.jdbc.dialect.MariaDbDialect;
import io.leasehold.jdbc.dialect.PostgresDialect;

/** The databases that {@link JdbcStores} can keep locks in; handle unknown values, more will come. */
public enum SqlDialect {
    /** H2 2.x, in memory, as a file or as a server. */
    H2,
    /** PostgreSQL 12 and newer. */
    POSTGRESQL,
    /** MariaDB 10.6 and newer. */
    MARIADB,
    /** MySQL 8.0 and newer; not tried on a real server. */
    MYSQL;

    Dialect statements() {
        return switch (this) {
            case H2 -> H2Dialect.dialect();
            case POSTGRESQL -> PostgresDialect.dialect();
            case MARIADB -> MariaDbDialect.mariaDb();
            case MYSQL -> MariaDbDialect.mySql();
        };
    }
}
