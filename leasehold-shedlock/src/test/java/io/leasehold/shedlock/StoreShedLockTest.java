package io.leasehold.shedlock;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockClient;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.test.support.AbstractExtensibleLockProviderIntegrationTest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** ShedLock's own tests, its fuzz test among them, over one store: with renewed leases, and with others. */
@Tag("full")
abstract class StoreShedLockTest {

    private LockClient client;

    /** A client of the store that the class has started. */
    abstract LockClient connect() throws Exception;

    @BeforeEach
    void open() throws Exception {
        client = connect();
    }

    @AfterEach
    void close() {
        client.close();
    }

    abstract class Suite extends AbstractExtensibleLockProviderIntegrationTest {

        @Override
        public void assertUnlocked(String name) {
            assertThat(client.admin().inspect(name)).isEmpty();
        }

        @Override
        public void assertLocked(String name) {
            assertThat(client.admin().inspect(name)).isPresent();
        }
    }

    @Nested
    class Renewed extends Suite {
        @Override
        public ExtensibleLockProvider getLockProvider() {
            return LeaseholdLockProvider.over(client);
        }
    }

    @Nested
    class Unrenewed extends Suite {
        @Override
        public ExtensibleLockProvider getLockProvider() {
            return LeaseholdLockProvider.over(client).unrenewed();
        }
    }
}
