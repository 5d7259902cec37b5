package io.leasehold.reactor;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.DistributedLock;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** Subscriptions that are cancelled at random moments: while they wait, are granted, run, end, or have ended. */
final class Storm {

    private static final Duration PATIENCE = Duration.ofMinutes(1);
    /** A tenth of it is the time limit of a request, which a busy machine must meet. */
    private static final Duration TTL = Duration.ofSeconds(10);

    private static final int LOCKS = 4;
    private static final int AT_ONCE = 32;
    private static final int ROUND = 64;

    private final AtomicLong renewals = new AtomicLong();
    private final AtomicInteger inside = new AtomicInteger();
    private final AtomicInteger together = new AtomicInteger();

    private Storm() {}

    /** Cancels this number of subscriptions, and checks that nothing is left behind. */
    static void run(String uri, int cancellations, long seed) throws InterruptedException {
        new Storm().blow(uri, cancellations, new Random(seed));
    }

    private void blow(String uri, int cancellations, Random random) throws InterruptedException {
        LockListener counting = new LockListener() {
            @Override
            public void renewed(Renewed event) {
                renewals.incrementAndGet();
            }
        };
        Scheduler cancelling = Schedulers.newParallel("cancelling", 2);
        try (LockClient locks =
                Leasehold.builder().store(uri).listener(counting).connect()) {
            CountDownLatch cancelled = new CountDownLatch(cancellations);
            CountDownLatch leftAlone = new CountDownLatch(cancellations / ROUND);
            for (int i = 0; i < cancellations; i++) {
                DistributedLock lock = locks.named("order:" + i % LOCKS).with(o -> o.ttl(TTL));
                if (i % ROUND == ROUND - 1) {
                    publisher(lock, random.nextInt(3), false).subscribe(value -> {}, error -> {}, leftAlone::countDown);
                }
                Disposable running =
                        publisher(lock, random.nextInt(4), i % LOCKS == 0).subscribe(value -> {}, error -> {});
                cancelling.schedule(
                        () -> {
                            running.dispose();
                            cancelled.countDown();
                        },
                        moment(i, random),
                        TimeUnit.MICROSECONDS);
                while (i - (cancellations - cancelled.getCount()) > AT_ONCE) {
                    Thread.onSpinWait();
                }
            }
            assertThat(cancelled.await(5, TimeUnit.MINUTES)).isTrue();
            assertThat(leftAlone.await(5, TimeUnit.MINUTES))
                    .as("what is not cancelled completes")
                    .isTrue();
            assertNothingIsLeft(locks);
        } finally {
            cancelling.dispose();
        }
    }

    /** Mostly near the moment of the grant; in some rounds before it, in others after the end. */
    private static long moment(int i, Random random) {
        return switch (i / ROUND % 4) {
            case 0 -> 0;
            case 1 -> random.nextInt(200);
            case 2 -> random.nextInt(4_000);
            default -> random.nextInt(50_000);
        };
    }

    /** A publisher of this kind of work; on one of the locks it detects whether two run at once. */
    private Flux<Integer> publisher(DistributedLock lock, int kind, boolean watched) {
        return switch (kind) {
            case 0 ->
                ReactiveLocks.using(lock, PATIENCE, lease -> Mono.fromSupplier(() -> entered(watched)))
                        .flux();
            case 1 ->
                ReactiveLocks.using(
                                lock,
                                PATIENCE,
                                lease -> Mono.delay(Duration.ofMillis(1)).thenReturn(1))
                        .flux();
            case 2 ->
                ReactiveLocks.usingMany(
                        lock, PATIENCE, lease -> Flux.range(0, 3).publishOn(Schedulers.parallel()));
            default -> ReactiveLocks.usingMany(lock, PATIENCE, lease -> Flux.<Integer>never());
        };
    }

    /** Work that runs inside subscribe is alone, even if it is cancelled meanwhile. */
    private int entered(boolean watched) {
        if (watched) {
            if (inside.incrementAndGet() > 1) {
                together.incrementAndGet();
            }
            Thread.onSpinWait();
            inside.decrementAndGet();
        }
        return 1;
    }

    private void assertNothingIsLeft(LockClient locks) throws InterruptedException {
        for (int i = 0; i < LOCKS; i++) {
            try (Lease free = locks.named("order:" + i).tryAcquire(PATIENCE)) {
                assertThat(free).isNotNull();
            }
            assertThat(locks.admin().waiters("order:" + i, 10)).isEmpty();
        }
        assertThat(locks.admin().list("*", 10)).isEmpty();
        assertThat(together).hasValue(0);
        long before = renewals.get();
        Thread.sleep(TTL.dividedBy(2).toMillis());
        assertThat(renewals).as("renewals of leases that nobody holds").hasValue(before);
    }
}
