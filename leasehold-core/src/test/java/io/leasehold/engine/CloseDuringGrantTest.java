package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.TokenRange;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A client is closed while the thread that brings a grant is anywhere in its way: stopped at each of its looks at the clock in
 * turn, until the closing thread waits for it or is done. Whatever was granted has been ended at the store when close() returns.
 */
@Tag("quick")
final class CloseDuringGrantTest {

    /** Far more than the looks at the clock between a reply and the end of its attempt. */
    private static final int MANY = 100;

    private static final Set<Thread.State> AT_REST =
            EnumSet.of(Thread.State.BLOCKED, Thread.State.WAITING, Thread.State.TIMED_WAITING, Thread.State.TERMINATED);

    @Test
    void aGrantOfOneLock() throws Exception {
        whereverItIsStopped(client -> client.named("a").acquireAsync());
    }

    @Test
    void aGrantOfSeveralAtOnce() throws Exception {
        whereverItIsStopped(client ->
                client.all(LockName.exactly("a"), LockName.exactly("b")).acquireAsync());
    }

    private static void whereverItIsStopped(Function<LockClient, CompletableFuture<?>> acquire)
            throws Exception {
        for (int stop = 0; stop < MANY; stop++) {
            if (!closedAtLook(acquire, stop)) {
                assertThat(stop).as("looks at the clock while a grant comes").isGreaterThan(3);
                return;
            }
        }
        throw new AssertionError("a grant takes more than " + MANY + " looks at the clock");
    }

    /** Returns whether the thread that brought the grant came to that look at all. */
    private static boolean closedAtLook(Function<LockClient, CompletableFuture<?>> acquire, int look)
            throws Exception {
        StoppingClock clock = new StoppingClock(look);
        LockRuntime runtime = clock.runtime();
        SilentStore store = new SilentStore();
        LockClient client = Leasehold.builder().store(store).runtime(runtime).connect();
        CompletableFuture<?> wanted = acquire.apply(client);
        SilentStore.Asked<AcquireRequest, AcquireReply> asked = store.acquires().get(0);
        Grant grant =
                new Grant(asked.request().owner(), TokenRange.of(1_000, 1), runtime.nanoTime(), Incarnation.DURABLE);
        Thread bringer = new Thread(() -> asked.answer().complete(new AcquireReply.Granted(grant, List.of())));
        Thread closer = new Thread(() -> client.close(Duration.ofMinutes(2)));
        clock.stopped = bringer;

        bringer.start();
        while (clock.reached.getCount() > 0 && bringer.isAlive()) {
            Thread.onSpinWait();
        }
        boolean reached = clock.reached.getCount() == 0;
        closer.start();
        while (!AT_REST.contains(closer.getState())) {
            Thread.onSpinWait();
        }
        clock.goOn.countDown();
        closer.join();

        assertThat(store.releases().stream().flatMap(release -> release.names().stream()))
                .as("ended by the time close() returns, with the bringer stopped at look " + look)
                .containsAll(asked.request().names());
        bringer.join();
        // On a thread for callbacks, which may still be about to.
        wanted.handle((value, error) -> true).get(60, TimeUnit.SECONDS);
        return reached;
    }

    /** Stops one thread at one of its looks at the clock. */
    private static final class StoppingClock implements InvocationHandler {
        private final LockRuntime real = new SystemLockRuntime();
        private final CountDownLatch reached = new CountDownLatch(1);
        private final CountDownLatch goOn = new CountDownLatch(1);
        private final int look;
        private int looks;
        private volatile Thread stopped;

        StoppingClock(int look) {
            this.look = look;
        }

        LockRuntime runtime() {
            return (LockRuntime)
                    Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {LockRuntime.class}, this);
        }

        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
            if (method.getName().equals("nanoTime") && Thread.currentThread() == stopped && looks++ == look) {
                reached.countDown();
                goOn.await();
            }
            try {
                return method.invoke(real, arguments);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        }
    }
}
