package io.leasehold.jdbc;

import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.H2Dialect;
import io.leasehold.jdbc.dialect.MariaDbDialect;
import io.leasehold.jdbc.dialect.PostgresDialect;
import io.leasehold.jdbc.dialect.SchemaFile;

/** The databases in which {@link JdbcStores} can keep locks. More databases may be added; handle unknown values. */
public enum SqlDialect {
    /** H2 2.x, in memory, as a file or as a server. */
    H2,
    /** PostgreSQL 12 and newer. */
    POSTGRESQL,
    /** MariaDB 10.6 and newer. */
    MARIADB,
    /** MySQL 8.0 and newer; tested on 9.7. */
    MYSQL;

    /**
     * The statements that create the tables. An administrator runs them if this user lacks the right; they do not
     * change existing tables.
     */
    public String ddl() {
        return SchemaFile.text(
                switch (this) {
                    case H2 -> "h2.sql";
                    case POSTGRESQL -> "postgresql.sql";
                    case MARIADB, MYSQL -> "mariadb.sql";
                });
    }

    Dialect statements() {
        return switch (this) {
            case H2 -> H2Dialect.dialect();
            case POSTGRESQL -> PostgresDialect.dialect();
            case MARIADB -> MariaDbDialect.mariaDb();
            case MYSQL -> MariaDbDialect.mySql();
        };
    }
}
