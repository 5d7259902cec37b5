package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.OwnerToken;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The remains of each step of the queue: no lock, no time limit, no finished task, no interrupt. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
@Timeout(60)
class WorkQueueTracesTest {

    private static final long LIMIT = Duration.ofMillis(100).toNanos();
    private static final long LONG = Duration.ofHours(1).toNanos();

    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private final WorkQueue queue = new WorkQueue(runtime, "here");

    private static Task<FailureKind> acquire(OwnerToken owner) {
        return Task.acquiring(owner, "acquire", null, (table, tries) -> null, (kind, error) -> kind);
    }

    private static Task<FailureKind> request() {
        return Task.writing("release", (table, tries) -> null, (kind, error) -> kind);
    }

    private static Task<FailureKind> renewal() {
        return Task.renewing("renewal", (table, tries) -> null, (kind, error) -> kind);
    }

    private OwnerToken owner() {
        return OwnerToken.draw(runtime);
    }

    private Task<?> take() {
        return Objects.requireNonNull(queue.take());
    }

    @Test
    void aTaskWithoutATimeLimitHasNoneAndBoundsNothing() {
        Task<FailureKind> endless = renewal();
        assertThat(queue.submit(endless, 0)).isSameAs(endless.future());
        runtime.runFor(Duration.ofHours(1));
        assertThat(endless.future()).isNotDone();
        assertThat(queue.shortestLimitNanos()).isEqualTo(Long.MAX_VALUE);
        queue.submit(request(), LIMIT);
        assertThat(queue.shortestLimitNanos()).as("what keeps no hold").isEqualTo(Long.MAX_VALUE);
        queue.submit(acquire(owner()), LONG);
        queue.submit(renewal(), LIMIT);
        queue.submit(acquire(owner()), LONG);
        assertThat(queue.shortestLimitNanos()).isEqualTo(LIMIT);
    }

    @Test
    void aWorkerThatWaitsEndsWithTheClose() {
        CompletableFuture<Boolean> ended = new CompletableFuture<>();
        runtime.startThread("worker", () -> ended.complete(queue.take() == null));
        runtime.runFor(Duration.ofMillis(1));
        assertThat(ended).isNotDone();
        queue.close();
        runtime.runFor(Duration.ofMillis(1));
        assertThat(ended).isCompletedWithValue(true);
    }

    @Test
    void aWorkerThatHasWaitedIsNotInterruptedByThat() {
        CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
        runtime.startThread("worker", () -> {
            queue.take();
            interrupted.complete(Thread.interrupted());
        });
        runtime.runFor(Duration.ofMillis(1));
        queue.submit(request());
        runtime.runFor(Duration.ofMillis(1));
        assertThat(interrupted).isCompletedWithValue(false);
    }

    /** The threads of callers, of the timer and of the worker use it. */
    @Test
    void eachStepLeavesTheQueueToOtherThreads() throws Exception {
        SystemLockRuntime real = new SystemLockRuntime();
        try {
            OwnerToken owner = owner();
            Task<FailureKind> aside = request();
            Task<FailureKind> late = request();
            List<Runnable> steps = List.of(
                    () -> queue.submit(acquire(owner), LIMIT),
                    queue::shortestLimitNanos,
                    queue::isClosed,
                    () -> queue.takeBackAcquire(owner),
                    () -> queue.submit(aside, LIMIT),
                    () -> queue.finished(take()),
                    () -> queue.putAside(aside, 1_000),
                    () -> runtime.runFor(Duration.ofMillis(1)),
                    () -> queue.submit(late, LIMIT),
                    () -> runtime.runFor(Duration.ofSeconds(1)),
                    queue::close,
                    () -> queue.submit(request(), LIMIT),
                    () -> queue.putAside(aside, 1_000),
                    queue::take);
            for (Runnable step : steps) {
                step.run();
                CompletableFuture<Boolean> used = new CompletableFuture<>();
                real.startThread("other", () -> used.complete(queue.isClosed()));
                used.get(10, TimeUnit.SECONDS);
            }
            assertThat(queue.isClosed()).isTrue();
        } finally {
            real.close();
        }
    }

    private WeakReference<Task<?>> afterwards(Function<OwnerToken, Task<?>> way) {
        return new WeakReference<>(way.apply(owner()));
    }

    private Task<?> submitted(OwnerToken owner, long limitNanos) {
        Task<FailureKind> task = acquire(owner);
        queue.submit(task, limitNanos);
        return task;
    }

    private static void assertIsForgotten(String how, WeakReference<Task<?>> task) throws InterruptedException {
        for (int i = 0; i < 200 && task.get() != null; i++) {
            System.gc();
            Thread.sleep(1);
        }
        assertThat(task.get()).as(how).isNull();
    }

    /** A client requests locks for months. */
    @Test
    void whatIsOverIsForgottenBeforeItsTimeLimit() throws Exception {
        WeakReference<Task<?>> finished = afterwards(owner -> {
            Task<?> task = submitted(owner, LONG);
            queue.finished(take());
            return task;
        });
        WeakReference<Task<?>> withdrawn = afterwards(owner -> {
            Task<?> task = submitted(owner, LONG);
            queue.takeBackAcquire(owner);
            return task;
        });
        WeakReference<Task<?>> aside = afterwards(owner -> {
            Task<?> task = submitted(owner, LIMIT);
            assertThat(take()).isSameAs(task);
            queue.putAside(task, 1_000);
            return task;
        });
        WeakReference<Task<?>> late = afterwards(owner -> submitted(owner, LIMIT));
        runtime.runFor(Duration.ofSeconds(1));
        assertIsForgotten("one that is finished", finished);
        assertIsForgotten("one that was withdrawn", withdrawn);
        assertIsForgotten("one whose time was up", late);
        assertIsForgotten("one whose time was up after it stood aside", aside);
        List<WeakReference<Task<?>>> left = new ArrayList<>();
        WeakReference<Task<?>> underWay = afterwards(owner -> {
            Task<?> task = submitted(owner, LONG);
            assertThat(take()).isSameAs(task);
            left.add(afterwards(other -> submitted(other, 0)));
            queue.close();
            queue.putAside(task, 1_000);
            return task;
        });
        WeakReference<Task<?>> refused = afterwards(owner -> submitted(owner, LONG));
        assertIsForgotten("one that could not be put aside", underWay);
        assertIsForgotten("one that was refused", refused);
        assertIsForgotten("one that was left at the close", left.get(0));
    }
}
