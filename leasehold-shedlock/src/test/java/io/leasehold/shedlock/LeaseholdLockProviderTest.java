package io.leasehold.shedlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.leasehold.Fairness;
import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockOptions;
import io.leasehold.ReleaseOutcome;
import io.leasehold.StoreUnavailableException;
import java.lang.ref.WeakReference;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the behaviour that ShedLock's own tests do not cover. */
@Tag("quick")
class LeaseholdLockProviderTest {

    private final LockClient client = Leasehold.connect("memory:");

    @AfterEach
    void close() {
        client.close();
    }

    @Test
    void theseAreTestsOfTheVersionThatIsMeant() {
        String expected = System.getProperty("expected.shedlock");
        assumeThat(expected).isNotNull();
        assertThat(LockProvider.class
                        .getProtectionDomain()
                        .getCodeSource()
                        .getLocation()
                        .toString())
                .contains("shedlock-core-" + expected);
    }

    private LeaseholdLockProvider getLockProvider() {
        return LeaseholdLockProvider.over(client);
    }

    private static LockConfiguration job(Duration atMost) {
        return new LockConfiguration(Instant.now(), "job", atMost, Duration.ZERO);
    }

    /** The state at the store after the death of the process: the lock is no longer renewed. */
    @Test
    void anUnrenewedLockLastsForLockAtMostForAndIsRenewedOnceItIsExtended() throws InterruptedException {
        LeaseholdLockProvider provider = getLockProvider().unrenewed();
        SimpleLock lock = provider.lock(job(Duration.ofHours(1))).orElseThrow();
        assertThat(((LeaseholdSimpleLock) lock).lease().remainingValidity())
                .isBetween(Duration.ofMinutes(59), Duration.ofMinutes(62));
        lock.unlock();
        SimpleLock brief = provider.lock(job(Duration.ofMillis(500))).orElseThrow();
        SimpleLock extended = brief.extend(Duration.ofMinutes(1), Duration.ZERO).orElseThrow();
        Thread.sleep(1000);
        assertThat(provider.lock(job(Duration.ofSeconds(1)))).isEmpty();
        extended.unlock();
        assertThat(provider.lock(job(Duration.ofSeconds(1)))).isPresent();
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

    /** The function for the options is called each time, in whatever order the provider was configured. */
    @Test
    void theOptionsThatAreSaidAreThoseOfEachLock() {
        AtomicInteger asked = new AtomicInteger();
        UnaryOperator<LockOptions> brief = options -> {
            asked.incrementAndGet();
            return options.ttl(Duration.ofSeconds(7));
        };
        assertThat(validity("a", getLockProvider().with(brief))).isLessThanOrEqualTo(Duration.ofSeconds(7));
        assertThat(validity("b", getLockProvider().with(brief).unrenewed())).isGreaterThan(Duration.ofMinutes(59));
        assertThat(validity("c", getLockProvider().unrenewed().with(brief))).isGreaterThan(Duration.ofMinutes(59));
        assertThat(asked).hasValue(3);
        LeaseholdLockProvider both =
                getLockProvider().with(brief).with(options -> options.fairness(Fairness.STRICT_FIFO));
        assertThat(validity("d", both)).isLessThanOrEqualTo(Duration.ofSeconds(7));
    }

    private static Duration validity(String name, LeaseholdLockProvider provider) {
        SimpleLock lock = provider.lock(new LockConfiguration(Instant.now(), name, Duration.ofHours(1), Duration.ZERO))
                .orElseThrow();
        Duration valid = ((LeaseholdSimpleLock) lock).lease().remainingValidity();
        lock.unlock();
        return valid;
    }

    @Test
    void whatAnExtensionSaysCountsInPlaceOfWhatWasSaidBefore() {
        SimpleLock lock = getLockProvider().lock(job(Duration.ofMinutes(1))).orElseThrow();
        SimpleLock longer =
                lock.extend(Duration.ofHours(1), Duration.ofMinutes(30)).orElseThrow();
        longer.unlock();
        assertThat(((LeaseholdSimpleLock) longer).lease().isValid())
                .as("it is kept for half an hour")
                .isTrue();
        assertThat(getLockProvider().lock(job(Duration.ofMinutes(1)))).isEmpty();
    }

    /** A timer until lockAtMostFor would keep the client, too, in an application that is redeployed. */
    @Test
    void anUnlockedLockIsForgotten() throws InterruptedException {
        for (boolean extended : new boolean[] {false, true}) {
            WeakReference<Lease> lease = unlocked(extended);
            long until = System.nanoTime() + Duration.ofSeconds(30).toNanos();
            while (lease.get() != null && System.nanoTime() - until < 0) {
                System.gc();
                Thread.sleep(10);
            }
            assertThat(lease.get()).as("extended: %s", extended).isNull();
        }
    }

    private WeakReference<Lease> unlocked(boolean extended) {
        SimpleLock lock =
                getLockProvider().unrenewed().lock(job(Duration.ofHours(1))).orElseThrow();
        WeakReference<Lease> lease = new WeakReference<>(((LeaseholdSimpleLock) lock).lease());
        if (extended) {
            lock.extend(Duration.ofHours(2), Duration.ZERO).orElseThrow().unlock();
        } else {
            lock.unlock();
        }
        return lease;
    }

    /** The timer of the next renewal would keep the client, too, for a third of the validity. */
    @Test
    void aLockThatIsUnlockedAfterItsRenewalIsForgotten() throws InterruptedException {
        CountDownLatch renewed = new CountDownLatch(1);
        LockListener listener = new LockListener() {
            @Override
            public void renewed(Renewed event) {
                renewed.countDown();
            }
        };
        try (LockClient own =
                Leasehold.builder().store("memory:").listener(listener).connect()) {
            WeakReference<Lease> lease = unlockedAfterARenewal(own, renewed);
            long until = System.nanoTime() + Duration.ofSeconds(30).toNanos();
            while (lease.get() != null && System.nanoTime() - until < 0) {
                System.gc();
                Thread.sleep(10);
            }
            assertThat(lease.get()).isNull();
        }
    }

    private static WeakReference<Lease> unlockedAfterARenewal(LockClient own, CountDownLatch renewed)
            throws InterruptedException {
        SimpleLock lock = LeaseholdLockProvider.over(own)
                .unrenewed()
                .lock(job(Duration.ofHours(1)))
                .orElseThrow();
        WeakReference<Lease> lease = new WeakReference<>(((LeaseholdSimpleLock) lock).lease());
        SimpleLock extended = lock.extend(Duration.ofHours(2), Duration.ZERO).orElseThrow();
        renewed.await();
        Thread.sleep(50); // so that the timer of the next renewal is armed
        extended.unlock();
        return lease;
    }

    /** A lease that stays valid, and whose renewals fail. */
    private static Lease unanswered(AtomicInteger renewals) {
        return (Lease) Proxy.newProxyInstance(
                Lease.class.getClassLoader(),
                new Class<?>[] {Lease.class},
                (lease, method, arguments) -> switch (method.getName()) {
                    case "isValid" -> true;
                    case "remainingValidity" -> Duration.ofMillis(30);
                    case "renewAsync" -> {
                        renewals.incrementAndGet();
                        yield CompletableFuture.failedFuture(new StoreUnavailableException("made by the test", null));
                    }
                    default -> null;
                });
    }

    @Test
    void aRenewalThatFailsIsNotTheLast() throws InterruptedException {
        AtomicInteger renewals = new AtomicInteger();
        SimpleLock lock = LeaseholdSimpleLock.held(
                job(Duration.ofMinutes(1)),
                unanswered(renewals),
                System.nanoTime() + Duration.ofMinutes(1).toNanos(),
                false);
        SimpleLock extended = lock.extend(Duration.ofHours(1), Duration.ZERO).orElseThrow();
        long until = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        while (renewals.get() < 3) {
            assertThat(System.nanoTime() - until).isNegative();
            Thread.sleep(1);
        }
        extended.unlock();
    }

    /** An open lease would delay the end of the client, which would then report it as lost. */
    @Test
    void aJobThatIsDoneBeforeItsLeastTimeHasNoLeaseAnyMore() {
        List<LockListener.Lost> losses = new CopyOnWriteArrayList<>();
        LockListener listener = new LockListener() {
            @Override
            public void lost(Lost event) {
                losses.add(event);
            }
        };
        try (LockClient own =
                Leasehold.builder().store("memory:").listener(listener).connect()) {
            for (LeaseholdLockProvider provider : List.of(
                    LeaseholdLockProvider.over(own),
                    LeaseholdLockProvider.over(own).unrenewed())) {
                LockConfiguration done = new LockConfiguration(
                        Instant.now(), "job" + provider.hashCode(), Duration.ofHours(2), Duration.ofHours(1));
                SimpleLock lock = provider.lock(done).orElseThrow();
                lock.unlock();
                Lease lease = ((LeaseholdSimpleLock) lock).lease();
                assertThat(lease.isValid()).isFalse();
                assertThat(lease.whenEnded().toCompletableFuture().join())
                        .isEqualTo(new HoldEnd.Released(ReleaseOutcome.KEPT));
                assertThat(provider.lock(done)).as("it is kept for an hour").isEmpty();
            }
        }
        assertThat(losses).isEmpty();
    }
}
