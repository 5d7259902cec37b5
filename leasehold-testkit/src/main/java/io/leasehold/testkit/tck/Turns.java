package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.leasehold.Attempt;
import io.leasehold.Hold;
import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.ReentrantLockView;
import io.leasehold.ReleaseOutcome;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * One run in which threads of one process acquire one lock in turn: they wait without and with limits, cancel, are
 * interrupted, renew, and lose their holds. Afterwards it checks all invariants.
 */
final class Turns {

    private static final int THREADS = 8;
    /** A thread that is not served for so long is stuck. */
    private static final long STUCK_NANOS = TckBench.PATIENCE.toNanos();

    private final LockName name;
    private final int turns;
    private final boolean risingTokens;
    private final CountingTimers timers = new CountingTimers(new WallTimeRuntime());
    private volatile @Nullable LockClient connected;
    /** Over a set, a forced release names no attempt, so at some nodes it may meet the one that follows at once. */
    private volatile boolean mayLose;

    private final AtomicInteger begun = new AtomicInteger();
    private final AtomicInteger taken = new AtomicInteger();
    private final AtomicInteger inside = new AtomicInteger();
    /** Only the holder reads and writes it. */
    private volatile long lastToken;

    /** The ranges that were granted: the first token of each, and the last. */
    private final ConcurrentSkipListMap<Long, Long> granted = new ConcurrentSkipListMap<>();
    /** The ends of each token, as listeners heard them. */
    private final Map<Long, List<String>> ends = new ConcurrentHashMap<>();
    /** The ends of each token, as the holders saw them themselves. */
    private final Map<Long, String> seen = new ConcurrentHashMap<>();

    private final AtomicLong attemptsBegun = new AtomicLong();
    private final AtomicLong attemptsEnded = new AtomicLong();
    private final AtomicLong attemptsWon = new AtomicLong();
    private final List<Loss> losses = new ArrayList<>();
    private final ExecutorService interrupter = Executors.newSingleThreadExecutor(task -> {
        Thread thread = new Thread(task, "interrupter");
        thread.setDaemon(true);
        return thread;
    });

    /** The number of callbacks of one lease, and whether it is lost. */
    private record Loss(long token, boolean isLost, AtomicInteger told) {}

    /**
     * A run.
     *
     * @param risingTokens whether the store promises that tokens rise
     */
    Turns(LockName name, int turns, boolean risingTokens) {
        this.name = name;
        this.turns = turns;
        this.risingTokens = risingTokens;
    }

    /** The runtime of the client. */
    LockRuntime runtime() {
        return timers.runtime();
    }

    /** The same store, whose grants are recorded. */
    LockStore noting(LockStore store) {
        mayLose = !store.isOfNodes();
        return (LockStore) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {LockStore.class}, (proxy, method, arguments) -> {
                    Object answer;
                    try {
                        answer = method.invoke(store, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                    return method.getName().equals("acquire")
                            ? ((CompletableFuture<?>) answer).thenApply(this::noted)
                            : answer;
                });
    }

    private Object noted(Object reply) {
        if (reply instanceof AcquireReply.Granted grant) {
            granted.put(grant.grant().tokens().first(), grant.grant().tokens().last());
        }
        return reply;
    }

    /** To be given to the client. */
    LockListener listener() {
        return new LockListener() {
            @Override
            public void attemptBegan(AttemptBegan event) {
                attemptsBegun.incrementAndGet();
            }

            @Override
            public void attemptEnded(AttemptEnded event) {
                attemptsEnded.incrementAndGet();
                if (event.outcome() == AttemptOutcome.ACQUIRED) {
                    attemptsWon.incrementAndGet();
                }
            }

            @Override
            public void lost(Lost event) {
                ended(event.fencingToken(), "lost");
            }

            @Override
            public void released(Released event) {
                ended(event.fencingToken(), event.outcome().name());
            }
        };
    }

    private void ended(long token, String how) {
        ends.merge(token, List.of(how), (one, other) -> {
            List<String> both = new ArrayList<>(one);
            both.addAll(other);
            return both;
        });
    }

    /** Takes all turns, and checks the results. */
    void run(LockClient of) {
        connected = of;
        TaskErrors errors = new TaskErrors();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            Random random = new Random(i);
            threads.add(errors.start("turns-" + i, () -> {
                while (begun.getAndIncrement() < turns) {
                    takeOne(random);
                }
            }));
        }
        awaitProgress(threads, errors);
        errors.join(threads);
        interrupter.shutdown();
        check();
    }

    private LockClient client() {
        return Objects.requireNonNull(connected, "client");
    }

    /** A thread that is never served, fails the run long before the run would be given up. */
    private void awaitProgress(List<Thread> threads, TaskErrors errors) {
        int before = -1;
        long sinceNanos = System.nanoTime();
        while (threads.stream().anyMatch(Thread::isAlive)) {
            errors.failIfAny();
            int now = begun.get() + taken.get();
            if (now != before) {
                before = now;
                sinceNanos = System.nanoTime();
            } else if (System.nanoTime() - sinceNanos > STUCK_NANOS) {
                Thread stuck =
                        threads.stream().filter(Thread::isAlive).findAny().orElseThrow();
                AssertionError error = new AssertionError("no turn was taken for " + TckBench.PATIENCE);
                error.setStackTrace(stuck.getStackTrace());
                throw error;
            }
            LockSupport.parkNanos(2_000_000);
        }
    }

    private void takeOne(Random random) throws Exception {
        switch (random.nextInt(9)) {
            case 0 -> interrupted(random);
            case 8 -> uninterruptible(random);
            case 1 -> cancelled(random);
            case 2, 3 -> {
                Attempt<Lease> attempt = client().named(name).attempt(Duration.ofNanos(random.nextInt(400_000)));
                use(attempt.orElseNull(), random);
            }
            case 4 -> use(client().named(name).acquireAsync().join(), random);
            default -> use(client().named(name).acquire(), random);
        }
    }

    private void cancelled(Random random) {
        CompletableFuture<Lease> wanted = client().named(name).acquireAsync();
        spin(random);
        if (wanted.cancel(false)) {
            assertThrows(CancellationException.class, wanted::join);
        } else {
            use(wanted.join(), random);
        }
    }

    /** The interrupt comes out as an exception, or is there afterwards. */
    private void interrupted(Random random) {
        CountDownLatch sent = interruptSoon(random);
        Lease lease = null;
        boolean heard = false;
        try {
            lease = client().named(name).acquire();
        } catch (InterruptedException e) {
            heard = true;
        }
        assertTrue(heard != isKept(sent), heard ? "an interrupt was told twice" : "an interrupt was swallowed");
        use(lease, random);
    }

    /** The interrupt is there afterwards. */
    private void uninterruptible(Random random) {
        ReentrantLockView view = client().named(name).asReentrantLock();
        CountDownLatch sent = interruptSoon(random);
        long token;
        view.lock();
        try {
            assertTrue(isKept(sent), "an interrupt was swallowed");
            token = view.fencingToken();
            enter(token);
            inside.decrementAndGet();
        } finally {
            view.unlock();
        }
        note(token, "RELEASED");
    }

    private CountDownLatch interruptSoon(Random random) {
        Thread victim = Thread.currentThread();
        CountDownLatch sent = new CountDownLatch(1);
        int pause = random.nextInt(200_000);
        interrupter.execute(() -> {
            spinFor(pause);
            victim.interrupt();
            sent.countDown();
        });
        return sent;
    }

    private static boolean isKept(CountDownLatch sent) {
        while (sent.getCount() > 0) {
            Thread.onSpinWait();
        }
        return Thread.interrupted();
    }

    private static void spin(Random random) {
        spinFor(random.nextInt(200_000));
    }

    private static void spinFor(long nanos) {
        long startAtNanos = System.nanoTime();
        while (System.nanoTime() - startAtNanos < nanos) {
            Thread.onSpinWait();
        }
    }

    private void use(@Nullable Lease lease, Random random) {
        if (lease == null) {
            return;
        }
        long token = lease.fencingToken();
        enter(token);
        boolean isLost = mayLose && random.nextInt(Math.max(25, turns / 100)) == 0;
        AtomicInteger told = new AtomicInteger();
        lease.onLost(why -> told.incrementAndGet());
        synchronized (losses) {
            losses.add(new Loss(token, isLost, told));
        }
        if (random.nextInt(10) == 0) {
            lease.renew();
            assertTrue(lease.isValid(), "valid after its renewal");
        }
        inside.decrementAndGet();
        if (isLost) {
            lose(lease);
        } else {
            giveBack(lease, random);
        }
    }

    private void enter(long token) {
        taken.incrementAndGet();
        assertEquals(1, inside.incrementAndGet(), "holders");
        if (risingTokens) {
            assertTrue(token > lastToken, "token " + token + " follows " + lastToken);
        }
        lastToken = token;
    }

    private void lose(Lease lease) {
        assertTrue(client().admin().forceRelease(name, null), "its lock was held");
        assertThrows(LeaseLostException.class, lease::renew);
        HoldEnd.Lost end = assertInstanceOf(HoldEnd.Lost.class, endOf(lease));
        assertTrue(end.cause() == LossCause.FORCE_RELEASED || end.cause() == LossCause.NOT_OURS, "lost: " + end);
        assertEquals(ReleaseOutcome.ALREADY_LOST, lease.release());
        note(lease.fencingToken(), "lost");
    }

    private void giveBack(Lease lease, Random random) {
        boolean interrupted = random.nextInt(4) == 0;
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        if (random.nextBoolean()) {
            lease.close();
        } else {
            assertEquals(ReleaseOutcome.RELEASED, lease.release());
        }
        assertEquals(interrupted, Thread.interrupted(), "the interrupt is there after the release");
        HoldEnd.Released end = assertInstanceOf(HoldEnd.Released.class, endOf(lease));
        assertEquals(ReleaseOutcome.RELEASED, end.outcome());
        note(lease.fencingToken(), "RELEASED");
    }

    private static HoldEnd endOf(Hold hold) {
        return TckBench.join(hold.whenEnded().toCompletableFuture());
    }

    private void note(long token, String how) {
        String before = seen.put(token, how);
        if (before != null && risingTokens) {
            fail("token " + token + " was handed out twice");
        }
    }

    private void check() {
        TckBench.until("no hold is left", () -> client().admin().inspect(name).isEmpty());
        TckBench.until(
                "no waiter is left", () -> client().admin().waiters(name, 10).isEmpty());
        TckBench.until("each attempt was told to have ended", () -> attemptsBegun.get() == attemptsEnded.get());
        if (!risingTokens) {
            return;
        }
        TckBench.until("each lease was told to have ended", () -> ends.size() >= attemptsWon.get());
        ends.forEach((token, told) -> {
            assertEquals(1, told.size(), "ends of token " + token + ": " + told);
            Map.Entry<Long, Long> range = granted.floorEntry(token);
            assertTrue(range != null && token <= range.getValue(), "token " + token + " was granted");
        });
        assertEquals(attemptsWon.get(), ends.size(), "leases that were told of");
        seen.forEach((token, how) -> assertEquals(List.of(how), ends.get(token), "end of token " + token));
        for (Loss loss : losses) {
            TckBench.until(
                    "the loss is reported", () -> !loss.isLost() || loss.told().get() > 0);
            assertEquals(loss.isLost() ? 1 : 0, loss.told().get(), "losses of token " + loss.token());
        }
    }

    /** Also of leases that are over long since, some stay armed until they are due. */
    void awaitNoTimer() {
        TckBench.until("no timer is left", () -> timers.armed() == 0);
    }

    int grants() {
        return granted.size();
    }

    int leases() {
        return taken.get();
    }
}
