package io.leasehold.shedlock;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import java.time.Duration;
import java.time.Instant;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.test.support.AbstractExtensibleLockProviderIntegrationTest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** ShedLock's own tests, over locks in memory; and what is ours. */
@Tag("full")
class MemoryShedLockTest extends AbstractExtensibleLockProviderIntegrationTest {

    private final LockClient client = Leasehold.connect("memory:");

    @AfterEach
    void close() {
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

    @Test
    void tokensIncreaseAndALossIsTold() {
        LockConfiguration configuration =
                new LockConfiguration(Instant.now(), "job", Duration.ofMinutes(1), Duration.ZERO);
        SimpleLock first = getLockProvider().lock(configuration).orElseThrow();
        long token = ((LeaseholdSimpleLock) first).fencingToken();
        Lease lease = ((LeaseholdSimpleLock) first).lease();
        assertThat(lease.isValid()).isTrue();
        client.admin().forceRelease("job", null);
        lease.whenEnded().toCompletableFuture().join();
        assertThat(lease.isValid()).isFalse();
        assertThat(first.extend(Duration.ofMinutes(1), Duration.ZERO)).isEmpty();
        SimpleLock second = getLockProvider().lock(configuration).orElseThrow();
        assertThat(((LeaseholdSimpleLock) second).fencingToken()).isGreaterThan(token);
        second.unlock();
    }

    @Test
    void anInterruptedCallerGetsNothingAndStaysInterrupted() {
        Thread.currentThread().interrupt();
        assertThat(getLockProvider()
                        .lock(new LockConfiguration(Instant.now(), "job", Duration.ofMinutes(1), Duration.ZERO)))
                .isEmpty();
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void aConfigurationWhoseTimeIsOverLocksNothing() {
        assertThat(getLockProvider()
                        .lock(new LockConfiguration(
                                Instant.now().minusSeconds(60), "job", Duration.ofSeconds(1), Duration.ZERO)))
                .isEmpty();
    }
}
