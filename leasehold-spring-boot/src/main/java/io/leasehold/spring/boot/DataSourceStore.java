package io.leasehold.spring.boot;

import io.leasehold.Leasehold;
import io.leasehold.StoreUnavailableException;
import io.leasehold.jdbc.JdbcStores;
import io.leasehold.jdbc.SqlDialect;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Locale;
import javax.sql.DataSource;
import org.springframework.beans.factory.ListableBeanFactory;

/** Keeps locks in a database of the application. */
final class DataSourceStore {

    private DataSourceStore() {}

    static void nameTo(Leasehold.Builder builder, ListableBeanFactory beans, String name) {
        DataSource database = beans.getBean(name, DataSource.class);
        builder.store(
                runtime -> JdbcStores.over(database, dialect(database, name)).apply(runtime));
    }

    private static SqlDialect dialect(DataSource database, String name) {
        String product;
        try (Connection connection = database.getConnection()) {
            product = connection.getMetaData().getDatabaseProductName().toUpperCase(Locale.ROOT);
        } catch (SQLException e) {
            throw new StoreUnavailableException(
                    "the DataSource \"" + name + "\", which should keep the locks, does not answer: " + e.getMessage(),
                    e);
        }
        for (SqlDialect dialect : SqlDialect.values()) {
            if (product.equals(dialect.name())) {
                return dialect;
            }
        }
        throw new NoLockStoreException(
                "The DataSource \"" + name + "\" is a " + product + ", which cannot keep locks",
                "Use PostgreSQL, MariaDB, MySQL or H2, or set the uri of another store",
                null);
    }
}
