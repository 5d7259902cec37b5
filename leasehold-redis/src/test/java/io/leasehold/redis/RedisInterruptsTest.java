package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockBusyException;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.MultiLease;
import io.leasehold.ReentrantLockView;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Tests a hundred rounds of interrupts, cancellations, timeouts and closing clients at random moments, over thousands
 * of keys of a real server. Afterwards, the server's own statistics show that nothing is left.
 */
@Tag("full")
class RedisInterruptsTest {

    private static final int ROUNDS = 100;
    private static final int THREADS = 8;
    private static final int KEYS = 4_000;

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final Queue<Throwable> errors = new ConcurrentLinkedQueue<>();
    private final AtomicInteger acquired = new AtomicInteger();
    private final AtomicInteger interrupted = new AtomicInteger();
    private final AtomicInteger cancelled = new AtomicInteger();
    private final AtomicInteger timedOut = new AtomicInteger();
    private final AtomicInteger closed = new AtomicInteger();

    private static LockClient client() {
        // The ttl is long, so that no leftover expires before the check.
        return Leasehold.builder()
                .store(SERVER.server().uri())
                .defaults(LockOptions.defaults().ttl(Duration.ofMinutes(10)).recheck(Duration.ofMillis(500)))
                .connect();
    }

    @Test
    void nothingIsLeftOfAHundredRounds() throws Exception {
        LockClient[] clients = {client(), client()};
        for (int round = 0; round < ROUNDS; round++) {
            round(clients, round);
        }
        assertThat(errors).isEmpty();
        assertThat(acquired.get()).isGreaterThan(ROUNDS);
        assertThat(interrupted.get()).isPositive();
        assertThat(cancelled.get()).isPositive();
        assertThat(timedOut.get()).isPositive();
        assertThat(closed.get()).isPositive();
        System.out.println("interrupts: " + acquired + " acquired, " + interrupted + " interrupted, " + cancelled
                + " cancelled, " + timedOut + " timed out, " + closed + " ended by a closing client");

        NodeBench.until("no lock is left", () -> count("lock:*}") == 0);
        NodeBench.until("no client waits", () -> count("lock:*:queued") == 0);
        // Only fences and the records of clients with long holds are left, which expire; no client renews anything.
        assertThat(SERVER.redis().dbsize()).isEqualTo(count("lock:*:fence") + count("lock:client:*"));
        assertThat(SERVER.redis().pubsubChannels("lock:wake:*")).hasSizeLessThanOrEqualTo(clients.length);
        long before = scriptCalls();
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1_500));
        assertThat(scriptCalls()).as("rechecks would come every 500 ms").isEqualTo(before);

        for (LockClient client : clients) {
            client.close();
        }
        NodeBench.until(
                "no subscription is left",
                () -> SERVER.redis().pubsubChannels("lock:wake:*").isEmpty());
        assertThat(count("lock:*}")).isZero();
    }

    private void round(LockClient[] clients, int round) throws InterruptedException {
        AtomicBoolean over = new AtomicBoolean();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            LockClient client = clients[i % clients.length];
            long seed = 31L * round + i;
            Thread thread = NewestThreads.unstarted(() -> work(client, new Random(seed), over));
            threads.add(thread);
            thread.start();
        }
        Random random = new Random(round);
        for (int i = 0; i < 12; i++) {
            LockSupport.parkNanos(random.nextInt(2_000_000));
            threads.get(random.nextInt(THREADS)).interrupt();
        }
        closeDuringAcquire(random, round);
        over.set(true);
        for (Thread thread : threads) {
            while (thread.isAlive()) {
                // One that waits without limit is interrupted until it sees it.
                thread.interrupt();
                thread.join(5);
            }
        }
    }

    /** Hot keys, so that an attempt waits, and thousands of others, so that what is left behind is not overwritten. */
    private static LockName key(Random random) {
        return LockName.exactly("k:" + (random.nextInt(3) == 0 ? random.nextInt(KEYS) : random.nextInt(4)));
    }

    private void work(LockClient client, Random random, AtomicBoolean over) {
        try {
            while (!over.get()) {
                try {
                    once(client, random);
                } catch (InterruptedException e) {
                    interrupted.incrementAndGet();
                }
            }
        } catch (Throwable e) {
            errors.add(e);
        }
    }

    @SuppressWarnings("LockNotBeforeTry") // Only a failure of the test can throw in between.
    private void once(LockClient client, Random random) throws InterruptedException {
        LockName name = key(random);
        Duration brief = Duration.ofNanos(random.nextInt(3_000_000));
        switch (random.nextInt(7)) {
            case 0 -> {
                ReentrantLockView view = client.named(name).asReentrantLock();
                view.lockInterruptibly();
                acquired.incrementAndGet();
                view.unlock();
            }
            case 1 -> {
                ReentrantLockView view = client.named(name).asReentrantLock();
                view.lock();
                acquired.incrementAndGet();
                view.unlock();
            }
            case 2 -> {
                ReentrantLockView view = client.named(name).asReentrantLock();
                if (view.tryLock(random.nextInt(3_000), TimeUnit.MICROSECONDS)) {
                    acquired.incrementAndGet();
                    view.unlock();
                } else {
                    timedOut.incrementAndGet();
                }
            }
            case 3 -> close(client.named(name).tryAcquire(brief));
            case 4 -> cancelSoon(client.named(name).acquireAsync(), brief);
            case 5 -> cancelSoon(client.all(name, key(random)).acquireAsync(), brief);
            default -> {
                try (MultiLease lease =
                        client.all(name, key(random), key(random)).tryAcquire(brief)) {
                    (lease == null ? timedOut : acquired).incrementAndGet();
                }
            }
        }
    }

    private void close(Lease lease) {
        if (lease == null) {
            timedOut.incrementAndGet();
        } else {
            acquired.incrementAndGet();
            lease.close();
        }
    }

    private void cancelSoon(CompletableFuture<? extends io.leasehold.Hold> future, Duration after) {
        LockSupport.parkNanos(after.toNanos());
        if (future.cancel(false)) {
            cancelled.incrementAndGet();
            return;
        }
        acquired.incrementAndGet();
        future.join().release();
    }

    private void closeDuringAcquire(Random random, int round) {
        if (round % 5 != 0) {
            return;
        }
        LockClient client = client();
        List<CompletableFuture<?>> pending = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            pending.add(client.named(key(random)).acquireAsync());
            pending.add(client.all(key(random), key(random)).acquireAsync());
            pending.add(client.named(key(random))
                    .holdWhile(Duration.ofMinutes(1), lease -> CompletableFuture.completedFuture(1)));
        }
        LockSupport.parkNanos(ThreadLocalRandom.current().nextInt(3_000_000));
        client.close();
        for (CompletableFuture<?> future : pending) {
            try {
                future.get(60, TimeUnit.SECONDS);
            } catch (java.util.concurrent.ExecutionException e) {
                // The lease of work that had not begun is lost to the close.
                boolean isLost =
                        e.getCause() instanceof LeaseLostException lost && lost.lossCause() == LossCause.CLIENT_CLOSED;
                if (isLost || e.getCause() instanceof IllegalStateException) {
                    closed.incrementAndGet();
                } else if (!(e.getCause() instanceof LockBusyException)) {
                    errors.add(e.getCause());
                }
            } catch (CancellationException | InterruptedException | java.util.concurrent.TimeoutException e) {
                errors.add(e);
            }
        }
    }

    private static int count(String pattern) {
        return SERVER.redis().keys(pattern).size();
    }

    private static long scriptCalls() {
        return SERVER.server()
                .call("INFO", "commandstats")
                .lines()
                .filter(line -> line.startsWith("cmdstat_eval"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("^cmdstat_eval(?:sha)?:calls=(\\d+),.*", "$1")
                        .strip()))
                .sum();
    }
}
