package io.leasehold.spring;

import javax.sql.DataSource;
import org.springframework.jdbc.datasource.DelegatingDataSource;

/** A pool that outlives the application that uses it. */
final class UnclosedDataSource extends DelegatingDataSource {

    UnclosedDataSource(DataSource pool) {
        super(pool);
    }
}
