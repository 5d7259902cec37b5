package io.leasehold.shedlock;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.jdbc.JdbcStores;
import io.leasehold.jdbc.SqlDialect;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.Tag;

@Tag("full")
class H2ShedLockTest extends LongTtlShedLockTest {

    @Override
    LockClient connect() {
        JdbcDataSource database = new JdbcDataSource();
        database.setURL("jdbc:h2:mem:shedlock;DB_CLOSE_DELAY=-1");
        return Leasehold.builder()
                .store(JdbcStores.over(database, SqlDialect.H2))
                .connect();
    }
}
