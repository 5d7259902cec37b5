package io.leasehold.shedlock;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.jdbc.JdbcStores;
import io.leasehold.jdbc.SqlDialect;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.test.support.AbstractExtensibleLockProviderIntegrationTest;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** ShedLock's own tests, over H2. */
@Tag("full")
class H2ShedLockTest extends AbstractExtensibleLockProviderIntegrationTest {

    private static LockClient client;

    @BeforeAll
    static void start() {
        JdbcDataSource database = new JdbcDataSource();
        database.setURL("jdbc:h2:mem:shedlock;DB_CLOSE_DELAY=-1");
        client = Leasehold.builder()
                .store(JdbcStores.over(database, SqlDialect.H2))
                .connect();
    }

    @AfterAll
    static void stop() {
        client.close();
    }

    @Override
    public ExtensibleLockProvider getLockProvider() {
        return LeaseholdLockProvider.over(client);
    }

    @Override
    public void assertUnlocked(String name) {
        assertThat(client.admin().inspect(name)).isEmpty();
    }

    @Override
    public void assertLocked(String name) {
        assertThat(client.admin().inspect(name)).isPresent();
    }
}
