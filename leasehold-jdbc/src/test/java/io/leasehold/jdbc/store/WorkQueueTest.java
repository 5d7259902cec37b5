package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.spi.FailureKind;
import io.leasehold.spi.OwnerToken;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The order of the worker's tasks, and the end of tasks that never reach it. */
@Tag("quick")
@Timeout(60)
@SuppressWarnings("FutureReturnValueIgnored")
class WorkQueueTest {

    private static final long LIMIT = Duration.ofMillis(100).toNanos();
    private static final long LONG = Duration.ofSeconds(10).toNanos();

    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private final WorkQueue queue = new WorkQueue(runtime, "here");
    private final List<Task<?>> taken = new ArrayList<>();

    private OwnerToken owner() {
        return OwnerToken.draw(runtime);
    }

    private static Task<FailureKind> acquire(OwnerToken owner) {
        return Task.acquiring(owner, "acquire", null, (table, tries) -> null, (kind, error) -> kind);
    }

    private static Task<FailureKind> request() {
        return Task.writing("release", (table, tries) -> null, (kind, error) -> kind);
    }

    private static Task<FailureKind> renewal() {
        return Task.renewing("renewal", (table, tries) -> null, (kind, error) -> kind);
    }

    private static Task<FailureKind> housekeeping() {
        return Task.keepingHouse("housekeeping", (table, tries) -> null, (kind, error) -> kind);
    }

    private Task<?> take() {
        return Objects.requireNonNull(queue.take());
    }

    /** Lets a worker take all tasks, present and future. */
    private void work() {
        runtime.startThread("worker", () -> {
            Task<?> task = queue.take();
            while (task != null) {
                taken.add(task);
                task = queue.take();
            }
        });
    }

    /** Like the worker, if another transaction is in the way of a task. */
    private void standAside(Task<?> task, long pauseNanos) {
        assertThat(take()).isSameAs(task);
        assertThat(task.start()).isTrue();
        assertThat(task.giveWay()).isTrue();
        queue.putAside(task, pauseNanos);
    }

    @Test
    void whatKeepsAndEndsHoldsComesFirst() {
        Task<?>[] tasks = {housekeeping(), acquire(owner()), acquire(owner()), request(), renewal()};
        for (Task<?> task : tasks) {
            queue.submit(task, LONG);
        }
        assertThat(List.of(take(), take(), take(), take(), take()))
                .containsExactly(tasks[4], tasks[3], tasks[1], tasks[2], tasks[0]);
    }

    @Test
    void housekeepingHasItsTurnHoweverMuchElseThereIs() {
        List<Task<?>> chores = List.of(housekeeping(), housekeeping());
        chores.forEach(queue::submit);
        for (int i = 0; i < 100; i++) {
            queue.submit(acquire(owner()), LONG);
        }
        List<Integer> turns = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            if (chores.contains(take())) {
                turns.add(i);
            }
        }
        assertThat(turns).containsExactly(16, 33);
    }

    @Test
    void whatStoodAsideComesBackAndWakesTheWorker() {
        Task<?> task = request();
        queue.submit(task, LONG);
        standAside(task, 5_000_000L);
        work();
        runtime.runFor(Duration.ofMillis(4));
        assertThat(taken).isEmpty();
        runtime.runFor(Duration.ofMillis(2));
        assertThat(taken).containsExactly(task);
        queue.close();
        runtime.runFor(Duration.ofMillis(1));
    }

    @Test
    void whatIsAnsweredByItsTimeLimitIsNotTakenAndNotKept() {
        WeakReference<Task<?>> gone = timeIsUp();
        work();
        runtime.runFor(Duration.ofSeconds(20));
        assertThat(taken).isEmpty();
        long startAtNanos = System.nanoTime();
        while (gone.get() != null) {
            assertThat(System.nanoTime() - startAtNanos)
                    .as("what is over is kept in memory")
                    .isLessThan(Duration.ofSeconds(30).toNanos());
            System.gc();
        }
        queue.close();
        runtime.runFor(Duration.ofMillis(1));
    }

    /** Lets the limits of two tasks pass: one in the queue, and one that stands aside. */
    private WeakReference<Task<?>> timeIsUp() {
        Task<FailureKind> aside = acquire(owner());
        queue.submit(aside, LIMIT);
        standAside(aside, Duration.ofSeconds(1).toNanos());
        Task<FailureKind> inLine = acquire(owner());
        queue.submit(inLine, LIMIT);
        runtime.runFor(Duration.ofMillis(97));
        assertThat(aside.future()).isNotDone();
        runtime.runFor(Duration.ofMillis(4));
        assertThat(aside.future()).isCompletedWithValue(FailureKind.NO_EFFECT);
        assertThat(inLine.future()).isCompletedWithValue(FailureKind.NO_EFFECT);
        return new WeakReference<>(inLine);
    }

    @Test
    void eachTaskHasATimeLimitOfItsOwn() {
        List<Task<FailureKind>> tasks = List.of(request(), request(), request());
        queue.submit(tasks.get(0), 3 * LIMIT);
        queue.submit(tasks.get(1), LIMIT);
        queue.submit(tasks.get(2), 2 * LIMIT);
        for (int over : new int[] {1, 2, 0}) {
            assertThat(tasks.get(over).future()).isNotDone();
            runtime.runFor(Duration.ofMillis(101));
            assertThat(tasks.get(over).future()).isCompletedWithValue(FailureKind.NO_EFFECT);
        }
        Task<FailureKind> later = request();
        queue.submit(later, LIMIT);
        runtime.runFor(Duration.ofMillis(101));
        assertThat(later.future()).isCompletedWithValue(FailureKind.NO_EFFECT);
    }

    @Test
    void theCloseAnswersWhateverWaits() {
        Task<FailureKind> aside = request();
        queue.submit(aside, LONG);
        standAside(aside, LONG);
        List<Task<FailureKind>> left = List.of(housekeeping(), acquire(owner()), request(), renewal());
        left.forEach(task -> queue.submit(task, LONG));
        Task<FailureKind> underWay = renewal();
        queue.submit(underWay, LONG);
        assertThat(take()).isSameAs(left.get(3));
        assertThat(take()).isSameAs(underWay);
        assertThat(underWay.start() && underWay.giveWay()).isTrue();
        queue.close();
        assertThat(aside.future()).isCompletedWithValue(FailureKind.NO_EFFECT);
        left.subList(0, 3).forEach(task -> assertThat(task.future()).isCompletedWithValue(FailureKind.NO_EFFECT));
        assertThat(underWay.future()).isNotDone();
        queue.putAside(underWay, 0);
        assertThat(underWay.future()).isCompletedWithValue(FailureKind.NO_EFFECT);
        Task<FailureKind> late = request();
        queue.submit(late, LONG);
        assertThat(late.future()).isCompletedWithValue(FailureKind.NO_EFFECT);
        assertThat(queue.take()).isNull();
    }

    @Test
    void anEndingTakesTheAcquireOfItsOwnerTokenOutWhereverItWaits() {
        OwnerToken one = owner();
        Task<FailureKind> aside = acquire(one);
        queue.submit(aside, LONG);
        standAside(aside, 5_000_000L);
        OwnerToken other = owner();
        Task<FailureKind> inLine = acquire(other);
        queue.submit(inLine, LONG);
        queue.takeBackAcquire(one);
        queue.takeBackAcquire(other);
        assertThat(aside.future()).isCompletedWithValue(FailureKind.NO_EFFECT);
        assertThat(inLine.future()).isCompletedWithValue(FailureKind.NO_EFFECT);
        work();
        runtime.runFor(Duration.ofSeconds(1));
        assertThat(taken).isEmpty();
        queue.close();
        runtime.runFor(Duration.ofMillis(1));
    }

    /** A silent connection is given up within this limit, so requests of operators do not count. */
    @Test
    void theShortestLimitIsThatOfWhatAcquiresOrKeepsAHold() {
        queue.submit(request(), 5);
        queue.submit(housekeeping(), 6);
        assertThat(queue.shortestLimitNanos()).isEqualTo(Long.MAX_VALUE);
        queue.submit(acquire(owner()), 20);
        queue.submit(renewal(), 10);
        queue.submit(acquire(owner()), 30);
        assertThat(queue.shortestLimitNanos()).isEqualTo(10);
    }
}
