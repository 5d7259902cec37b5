package io.leasehold.spring.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.integration.leader.Context;
import org.springframework.integration.leader.DefaultCandidate;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;
import org.springframework.integration.support.locks.LockRegistry;

/** Tests of a registry as Spring Integration uses it, including its own leader election. */
@Tag("quick")
@SuppressWarnings("LockNotBeforeTry") // what is left locked is the matter of the tests
class LeaseholdLockRegistryTest {

    private final LockClient client = Leasehold.connect("memory:");
    private final LeaseholdLockRegistry registry = LeaseholdLockRegistry.over(client, "flow");

    @AfterEach
    void close() {
        client.close();
    }

    private boolean triedElsewhere(Object key) throws Exception {
        return CompletableFuture.supplyAsync(() -> {
                    Lock lock = registry.obtain(key);
                    boolean locked = lock.tryLock();
                    if (locked) {
                        lock.unlock();
                    }
                    return locked;
                })
                .get(1, TimeUnit.MINUTES);
    }

    private void lose(String name) {
        assertThat(client.admin().forceRelease(name, null)).isTrue();
    }

    @Test
    void theseAreTestsOfTheVersionThatIsMeant() {
        String expected = System.getProperty("expected.spring-integration");
        assumeThat(expected).isNotNull();
        assertThat(LockRegistry.class.getPackage().getImplementationVersion()).isEqualTo(expected);
    }

    @Test
    void aLockIsReentrantAndExcludesOthers() throws Exception {
        Lock lock = registry.obtain(7);
        lock.lock();
        assertThat(lock.tryLock()).isTrue();
        assertThat(client.admin().inspect("flow:7")).isPresent();
        assertThat(triedElsewhere(7)).isFalse();
        assertThat(triedElsewhere(8)).isTrue();
        lock.unlock();
        assertThat(triedElsewhere(7)).isFalse();
        registry.expireUnusedOlderThan(0);
        registry.renewLock(7);
        registry.renewLock(7, Duration.ofSeconds(1));
        assertThat(registry.view(7).fencingToken()).isPositive();
        lock.unlock();
        assertThat(triedElsewhere(7)).isTrue();
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
        assertThatThrownBy(() -> registry.renewLock(7)).isInstanceOf(IllegalMonitorStateException.class);
    }

    @Test
    void workRunsUnderALock() throws Exception {
        assertThat(registry.<Boolean, Exception>executeLocked("k", () -> triedElsewhere("k")))
                .isFalse();
        try (Lease other = client.named("flow:k").acquire()) {
            assertThatThrownBy(() -> registry.executeLocked("k", Duration.ofMillis(10), () -> true))
                    .isInstanceOf(TimeoutException.class);
        }
    }

    @Test
    void aLostLockIsNotSilentlyTakenAgain() throws InterruptedException {
        Lock lock = registry.obtain("k");
        lock.lock();
        long token = registry.view("k").fencingToken();
        lose("flow:k");
        assertThat(lock.tryLock(1, TimeUnit.MINUTES)).isFalse();
        assertThat(lock.tryLock()).isTrue();
        assertThat(registry.view("k").fencingToken()).isGreaterThan(token);
        lose("flow:k");
        assertThatThrownBy(lock::lock).isInstanceOf(LeaseLostException.class);
        lock.lock();
        lose("flow:k");
        assertThatThrownBy(lock::unlock).isInstanceOf(LeaseLostException.class);
    }

    @Test
    void aLeaderThatLostItsLockIsRevokedBeforeItIsGrantedAgain() throws InterruptedException {
        BlockingQueue<String> events = new LinkedBlockingQueue<>();
        LockRegistryLeaderInitiator initiator =
                new LockRegistryLeaderInitiator(registry, new DefaultCandidate("me", "role") {
                    @Override
                    public void onGranted(Context context) {
                        events.add("granted");
                    }

                    @Override
                    public void onRevoked(Context context) {
                        events.add("revoked");
                    }
                });
        initiator.setHeartBeatMillis(10);
        initiator.setBusyWaitMillis(10);
        initiator.start();
        try {
            assertThat(events.poll(1, TimeUnit.MINUTES)).isEqualTo("granted");
            lose("flow:role");
            assertThat(events.poll(1, TimeUnit.MINUTES)).isEqualTo("revoked");
            assertThat(events.poll(1, TimeUnit.MINUTES)).isEqualTo("granted");
        } finally {
            initiator.stop();
        }
    }

    /** A patience of a million milliseconds or seconds would not end here. */
    @Test
    @Timeout(60)
    void aLockIsWaitedForInTheUnitThatIsSaid() throws Exception {
        try (Lease other = client.named("flow:k").acquire()) {
            assertThat(registry.obtain("k").tryLock(1_000_000, TimeUnit.NANOSECONDS))
                    .isFalse();
            assertThat(other.isValid()).isTrue();
        }
    }

    @Test
    void anInterruptedThreadIsNotGivenALock() throws InterruptedException {
        Lock lock = registry.obtain("k");
        Thread.currentThread().interrupt();
        assertThatThrownBy(lock::lockInterruptibly).isInstanceOf(InterruptedException.class);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> lock.tryLock(1, TimeUnit.DAYS)).isInstanceOf(InterruptedException.class);
        assertThat(client.admin().inspect("flow:k")).isEmpty();
        Thread.currentThread().interrupt();
        lock.lock();
        assertThat(Thread.interrupted()).as("it is kept for the caller").isTrue();
        lock.unlock();
    }

    @Test
    void theOptionsThatAreSaidAreThoseOfEachLock() {
        LeaseholdLockRegistry brief = registry.with(options -> options.ttl(Duration.ofSeconds(7)))
                .with(options -> options.maxHold(Duration.ofHours(1)));
        Lock lock = brief.obtain("k");
        lock.lock();
        assertThat(brief.view("k").remainingValidity()).isBetween(Duration.ofMillis(1), Duration.ofSeconds(7));
        lock.unlock();
    }

    @Test
    void aRegistryNeedsAName() {
        assertThatThrownBy(() -> LeaseholdLockRegistry.over(client, "{")).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> registry.obtain(" ")).isInstanceOf(IllegalArgumentException.class);
    }
}
