package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.Grant;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.TokenRange;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The remains of a close, and the effects of concurrent events. */
@Tag("quick")
@Timeout(60)
final class CloseStepsTest {

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final CountDownLatch closing = new CountDownLatch(1);
    private final CountDownLatch mayClose = new CountDownLatch(1);

    private LockClient client() {
        return Leasehold.builder().store(store).runtime(runtime).connect();
    }

    /** Creates a client of a store whose close ends when the test says so. */
    private EngineClient slowToClose() {
        io.leasehold.spi.LockStore slow = (io.leasehold.spi.LockStore) Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {io.leasehold.spi.LockStore.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("close")) {
                        closing.countDown();
                        mayClose.await();
                    }
                    try {
                        return method.invoke(store, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
        return ((EngineClient) Leasehold.builder().store(slow).runtime(runtime).connect())
                .closedByExit(Duration.ofSeconds(5));
    }

    private Lease granted(CompletableFuture<Lease> wanted) {
        var asked = store.acquires().get(store.acquires().size() - 1);
        asked.answer()
                .complete(new AcquireReply.Granted(
                        new Grant(
                                asked.request().owner(), TokenRange.of(9, 1), runtime.nanoTime(), Incarnation.DURABLE),
                        List.of()));
        return wanted.join();
    }

    @Test
    void aCloseLeavesNoTimer() {
        client().close();
        assertThat(store.isClosed()).isTrue();
        assertThat(runtime.timers()).isZero();
    }

    @Test
    void aCloseClosesTheRuntimeAndKeepsAnInterrupt() {
        LockClient client = client();
        Lease lease = granted(client.named("a").acquireAsync());
        runtime.passesInWaits();
        Thread.currentThread().interrupt();
        client.close();
        assertThat(Thread.interrupted()).isTrue();
        assertThat(lease.isValid()).isFalse();
        assertThat(store.isClosed()).isTrue();
        assertThat(runtime.isClosed()).isTrue();
    }

    private static Thread started(Runnable step, CompletableFuture<Void> done) {
        Thread thread = new Thread(() -> {
            step.run();
            done.complete(null);
        });
        thread.start();
        return thread;
    }

    private static void untilWaiting(Thread thread) {
        while (thread.getState() != Thread.State.WAITING && thread.getState() != Thread.State.TIMED_WAITING) {
            Thread.onSpinWait();
        }
    }

    /** The process may end once the exit's step returns. */
    @Test
    void anotherCloseAndTheExitWaitForTheCloseThatIsUnderWay() throws Exception {
        EngineClient client = slowToClose();
        CompletableFuture<Void> first = new CompletableFuture<>();
        CompletableFuture<Void> second = new CompletableFuture<>();
        CompletableFuture<Void> exit = new CompletableFuture<>();
        started(client::close, first);
        closing.await();
        Thread closer = started(client::close, second);
        Thread exiting = started(runtime::exit, exit);
        untilWaiting(closer);
        untilWaiting(exiting);
        assertThat(second).isNotDone();
        assertThat(exit).isNotDone();
        mayClose.countDown();
        first.get(30, TimeUnit.SECONDS);
        second.get(30, TimeUnit.SECONDS);
        exit.get(30, TimeUnit.SECONDS);
        assertThat(runtime.timers()).isZero();
    }

    @Test
    void anotherCloseIsNoMorePatientThanItWasAsked() throws Exception {
        EngineClient client = slowToClose();
        CompletableFuture<Void> first = new CompletableFuture<>();
        CompletableFuture<Void> second = new CompletableFuture<>();
        started(client::close, first);
        closing.await();
        Thread closer = started(() -> client.close(Duration.ofSeconds(3)), second);
        untilWaiting(closer);
        runtime.pass(Duration.ofSeconds(3));
        second.get(30, TimeUnit.SECONDS);
        assertThat(first).isNotDone();
        mayClose.countDown();
        first.get(30, TimeUnit.SECONDS);
    }

    /** The store has handed the lock to the waiter, which asks at once. */
    @Test
    void aHandOverReachesTheAttemptThatItIsFor() {
        LockClient client = client();
        CompletableFuture<Lease> wanted = client.named("a").acquireAsync();
        var asked = store.acquires().get(0);
        asked.answer().complete(new AcquireReply.Queued(null, 1, List.of()));
        store.ear()
                .handedOver(new HandOver(
                        asked.request().name(), asked.request().owner().attemptId(), TokenRange.of(20, 1), 1));
        assertThat(store.acquires()).hasSize(2);
        assertThat(granted(wanted).fencingToken()).isEqualTo(9);
    }

    @Test
    void pausesAreDrawnAtRandom() {
        SystemLockRuntime real = new SystemLockRuntime();
        try {
            EngineContext context = new Workshop(real, store).context;
            long different = java.util.stream.LongStream.generate(context::random)
                    .limit(50)
                    .distinct()
                    .count();
            assertThat(different).isGreaterThan(1);
        } finally {
            real.close();
        }
    }
}
