package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Hold;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.TokenRange;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Closes a client while another thread obtains a grant, renews a lease or releases it. The other thread is stopped at
 * each of its reads of the clock and at each of its requests in turn, until the closing thread waits for it or has
 * finished. When close() returns, every grant has been ended at the store.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class CloseDuringGrantTest {

    /** Far more than the number of points at which these threads can be stopped. */
    private static final int MANY = 100;
    /** The number of times that a way is repeated before it counts as shorter than a point. */
    private static final int WAYS = 10;
    /** The number of checks after which a closing thread is known to wait. */
    private static final int LOOKS_OF_THE_CLOSER = 5;

    private static final LockName A = LockName.exactly("a");
    private static final LockName B = LockName.exactly("b");

    /** The step of a thread, which ends with its result. */
    private interface Step {
        CompletableFuture<?> run() throws Exception;
    }

    @Test
    void aGrantOfOneLock() throws Exception {
        whereverItIsStopped(bench -> granting(bench, bench.client.named(A).acquireAsync()));
    }

    @Test
    void aGrantOfSeveralAtOnce() throws Exception {
        whereverItIsStopped(bench -> granting(bench, bench.client.all(A, B).acquireAsync()));
    }

    private static Step granting(Bench bench, CompletableFuture<?> wanted) {
        return () -> {
            bench.grant();
            return wanted;
        };
    }

    @Test
    void aReleaseOfOneLock() throws Exception {
        whereverItIsStopped(bench -> bench.held(bench.client.named(A).acquireAsync())::releaseAsync);
    }

    @Test
    void aReleaseOfSeveral() throws Exception {
        whereverItIsStopped(bench -> bench.held(bench.client.all(A, B).acquireAsync())::releaseAsync);
    }

    @Test
    void aHandOver() throws Exception {
        whereverItIsStopped(bench -> {
            Hold held = bench.held(bench.client.named(A).acquireAsync());
            bench.client.named(A).acquireAsync();
            return held::releaseAsync;
        });
    }

    /** A release that is called while a renewal is being sent is sent after it. */
    @Test
    void aRenewal() throws Exception {
        whereverItIsStopped(bench -> bench.held(bench.client.named(A).acquireAsync())::renewAsync);
    }

    /** The holder is notified of the close, and releases the lease that it has lost by the close. */
    @Test
    void aReleaseOfWhatTheCloseHasTaken() throws Exception {
        whereverItIsStopped(bench -> {
            Hold held = bench.held(bench.client.named(A).acquireAsync());
            held.onLost(why -> bench.told.countDown());
            bench.toldFirst = true;
            ((LeaseHandle) held).state().openedBy(bench.stopped);
            return held::releaseAsync;
        });
    }

    private static void whereverItIsStopped(Function<Bench, Step> beginning) throws Exception {
        for (int point = 0; point < MANY; point++) {
            if (!isReached(point, beginning)) {
                assertThat(point).as("points on the way").isGreaterThan(3);
                return;
            }
        }
        throw new AssertionError("there are more than " + MANY + " points on the way");
    }

    /** The closing thread may be faster now and then, which leaves the other one a shorter way. */
    private static boolean isReached(int point, Function<Bench, Step> beginning) throws Exception {
        for (int attempt = 0; attempt < WAYS; attempt++) {
            if (new Bench(point).isReached(beginning)) {
                return true;
            }
        }
        return false;
    }

    /** A client, and a thread that is stopped at one point. */
    private static final class Bench {
        private final int point;
        private final SilentStore store = new SilentStore();
        private final LockRuntime runtime = watched(LockRuntime.class, new SystemLockRuntime());
        private final LockClient client = Leasehold.builder()
                .store(watched(LockStore.class, store))
                .runtime(runtime)
                .connect();
        private final AtomicInteger looks = new AtomicInteger();
        private final CountDownLatch told = new CountDownLatch(1);
        private final CountDownLatch reached = new CountDownLatch(1);
        private final CountDownLatch goOn = new CountDownLatch(1);
        private final FutureTask<CompletableFuture<?>> work = new FutureTask<>(this::work);
        private final Thread stopped = new Thread(work);
        /** The thread on which the closing thread has last checked. */
        private volatile Thread looker;

        private boolean toldFirst;
        private Step step;
        private boolean counting;
        private int passed;

        Bench(int point) {
            this.point = point;
        }

        boolean isReached(Function<Bench, Step> beginning) throws Exception {
            step = beginning.apply(this);
            // The requests that the stopped thread sends after the close do not count.
            FutureTask<Set<LockName>> close = new FutureTask<>(() -> {
                client.close(Duration.ofMinutes(2));
                return ended();
            });
            Thread closer = new Thread(close);
            stopped.start();
            if (toldFirst) {
                closer.start();
            }
            while (reached.getCount() > 0 && stopped.isAlive()) {
                Thread.onSpinWait();
            }
            boolean isReached = reached.getCount() == 0;
            looks.set(0);
            if (!toldFirst) {
                closer.start();
            }
            while (!isAtRest(closer)) {
                Thread.onSpinWait();
            }
            goOn.countDown();
            while (!close.isDone()) {
                answerWhoWaits();
                Thread.onSpinWait();
            }

            assertThat(close.get(3, TimeUnit.MINUTES))
                    .as("ended by the time close() returns, with the other thread stopped at point " + point)
                    .containsAll(store.acquires().get(0).request().names());
            work.get(60, TimeUnit.SECONDS).handle((value, error) -> true).get(60, TimeUnit.SECONDS);
            return isReached;
        }

        /**
         * A waiter for a hand-over asks the store when the hand-over has taken too long, for example while classes are
         * loaded.
         */
        private void answerWhoWaits() {
            store.acquires().stream()
                    .skip(1)
                    .forEach(asked -> asked.answer().complete(new AcquireReply.Busy(null, 0, List.of())));
        }

        private boolean isAtRest(Thread closer) {
            return switch (closer.getState()) {
                case TERMINATED, BLOCKED -> true;
                case WAITING, TIMED_WAITING -> looks.get() >= LOOKS_OF_THE_CLOSER || isBlocked(looker);
                default -> false;
            };
        }

        private static boolean isBlocked(Thread thread) {
            return thread != null && thread.getState() == Thread.State.BLOCKED;
        }

        private CompletableFuture<?> work() throws Exception {
            if (toldFirst) {
                told.await();
            }
            counting = true;
            return step.run();
        }

        void grant() {
            SilentStore.Asked<AcquireRequest, AcquireReply> asked =
                    store.acquires().get(0);
            Grant grant = new Grant(
                    asked.request().owner(), TokenRange.of(1_000, 64), runtime.nanoTime(), Incarnation.DURABLE);
            asked.answer().complete(new AcquireReply.Granted(grant, List.of()));
        }

        <H extends Hold> H held(CompletableFuture<H> wanted) {
            grant();
            return wanted.join();
        }

        private Set<LockName> ended() {
            return store.releases().stream()
                    .flatMap(release -> release.names().stream())
                    .collect(Collectors.toSet());
        }

        /** Stops the thread before the call at which it is to stop. */
        private <T> T watched(Class<T> type, T real) {
            return type.cast(Proxy.newProxyInstance(
                    getClass().getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                        pass(method);
                        try {
                            return method.invoke(real, noting(method, arguments));
                        } catch (InvocationTargetException e) {
                            throw e.getCause();
                        }
                    }));
        }

        private Object[] noting(Method method, Object[] arguments) {
            if (!method.getName().equals("schedule")) {
                return arguments;
            }
            Runnable task = (Runnable) arguments[1];
            return new Object[] {
                arguments[0],
                (Runnable) () -> {
                    looker = Thread.currentThread();
                    task.run();
                }
            };
        }

        private void pass(Method method) throws InterruptedException {
            switch (method.getName()) {
                case "schedule" -> looks.incrementAndGet();
                case "nanoTime", "acquire", "renew", "release" -> {
                    if (Thread.currentThread() == stopped && counting && passed++ == point) {
                        reached.countDown();
                        goOn.await();
                    }
                }
                default -> {}
            }
        }
    }
}
