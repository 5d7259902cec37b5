package io.leasehold.sample;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.jdbc.JdbcStores;
import io.leasehold.testkit.tck.DialectTck;
import java.util.UUID;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The contract over an external dialect, found by its URL, or passed with a data source. */
@Tag("full")
class SampleDialectTckTest implements DialectTck {

    private static final String DATABASE = "mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";

    @Override
    public String url() {
        return "jdbc:sample:" + DATABASE;
    }

    @Test
    void theDialectIsTakenOverADataSource() throws InterruptedException {
        JdbcDataSource source = new JdbcDataSource();
        source.setURL("jdbc:h2:" + DATABASE);
        try (LockClient client = Leasehold.builder()
                .store(JdbcStores.over(source, new SampleDialect().dialect()))
                .connect()) {
            client.named("given").acquire().close();
            assertThat(client.admin().inspect("given")).isEmpty();
        }
    }
}
