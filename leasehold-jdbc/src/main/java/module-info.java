/** Locks in an SQL lease table: SQLite, the default that needs no server, PostgreSQL, MariaDB and H2. */
module io.leasehold.jdbc {
    requires transitive io.leasehold.core;
    requires transitive java.sql;
    requires org.slf4j;
    requires static org.xerial.sqlitejdbc;
    requires static transitive org.jspecify;

    exports io.leasehold.jdbc;
    exports io.leasehold.jdbc.dialect;

    uses io.leasehold.jdbc.dialect.DialectProvider;

    provides io.leasehold.spi.StoreProvider with
            io.leasehold.jdbc.JdbcStoreProvider;
}
