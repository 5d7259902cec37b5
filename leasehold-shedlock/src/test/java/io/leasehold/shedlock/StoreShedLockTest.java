package io.leasehold.shedlock;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockClient;
import io.leasehold.LockStoreException;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.test.support.AbstractExtensibleLockProviderIntegrationTest;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** ShedLock's own tests, its fuzz test among them, over one store. */
@Tag("full")
abstract class StoreShedLockTest {

    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private static final int TRIES = 10;

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

    final LockClient client() {
        return client;
    }

    abstract class Suite extends AbstractExtensibleLockProviderIntegrationTest {

        /** The release reaches the store late on a busy machine. */
        @Override
        public void assertUnlocked(String name) {
            long began = System.nanoTime();
            while (client.admin().inspect(name).isPresent()) {
                assertThat(System.nanoTime() - began).as("%s is held", name).isLessThan(PATIENCE.toNanos());
                Thread.onSpinWait();
            }
        }

        /**
         * These two lock for some 50 ms, and expect the end some 10 ms later: on a busy machine a store may answer later, which is an ambiguous
         * attempt, and remove what has expired later.
         */
        private void untilTheMachineIsFastEnough(ThrowingCallable test) {
            for (int tries = 1; ; tries++) {
                try {
                    test.call();
                    return;
                } catch (LockStoreException | AssertionError e) {
                    assertThat(tries).as("tries, the last: %s", e).isLessThan(TRIES);
                } catch (Throwable e) {
                    throw new AssertionError(e);
                }
            }
        }

        @Override
        @Test
        public void shouldTimeout() {
            untilTheMachineIsFastEnough(super::shouldTimeout);
        }

        @Override
        @Test
        public void shouldNotBeAbleToExtendExpiredLock() {
            untilTheMachineIsFastEnough(super::shouldNotBeAbleToExtendExpiredLock);
        }

        /**
         * Its threads have no patience: a request that is not answered in time ends the test, and only that case is
         * retried.
         */
        @Override
        @Test
        public void fuzzTestShouldPass() throws InterruptedException, ExecutionException {
            for (int tries = 1; ; tries++) {
                try {
                    super.fuzzTestShouldPass();
                    return;
                } catch (ExecutionException e) {
                    if (!(e.getCause() instanceof LockStoreException) || tries == TRIES) {
                        throw e;
                    }
                }
            }
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
}
