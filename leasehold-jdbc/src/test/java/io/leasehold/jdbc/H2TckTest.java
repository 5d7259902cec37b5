package io.leasehold.jdbc;

import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.testkit.tck.BackendTck;
import io.leasehold.testkit.tck.StoreFixture;
import java.util.UUID;
import org.h2.jdbcx.JdbcDataSource;

/** The backend contract over H2 in memory, through a data source of the caller's. */
class H2TckTest implements BackendTck {

    private static final JdbcDataSource DATA_SOURCE = new JdbcDataSource();

    static {
        DATA_SOURCE.setURL("jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1");
    }

    @Override
    public StoreFixture fixture() {
        return new StoreFixture() {
            @Override
            public String name() {
                return "h2";
            }

            @Override
            public LockStore open(LockRuntime runtime) {
                return JdbcStores.over(DATA_SOURCE, SqlDialect.H2, runtime);
            }
        };
    }
}
