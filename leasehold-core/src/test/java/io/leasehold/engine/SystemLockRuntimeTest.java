package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.spi.LockRuntime;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The real clocks, timers, threads and random numbers. */
@Tag("quick")
@Timeout(60)
final class SystemLockRuntimeTest {

    private static final long MS = 1_000_000;

    private final SystemLockRuntime runtime = new SystemLockRuntime();

    @AfterEach
    void close() {
        runtime.close();
    }

    private static Error made() {
        return new InternalError("made by the test");
    }

    @Test
    void timersRunInOrderOnceAndAlsoAfterOneThatFailed() throws Exception {
        List<Integer> ran = Collections.synchronizedList(new ArrayList<>());
        CountDownLatch last = new CountDownLatch(1);
        // The delays differ enough for a machine that is busy between two of these calls.
        runtime.schedule(1_500 * MS, () -> {
            ran.add(3);
            last.countDown();
        });
        runtime.schedule(750 * MS, () -> {
            ran.add(2);
            throw made();
        });
        runtime.schedule(-5, () -> ran.add(1));
        LockRuntime.Timer cancelled = runtime.schedule(1_000 * MS, () -> ran.add(9));
        cancelled.cancel();
        assertThat(last.await(30, TimeUnit.SECONDS)).isTrue();
        assertThat(ran).containsExactly(1, 2, 3);
    }

    @Test
    void aTimerIsNotEarly() throws Exception {
        long before = runtime.nanoTime();
        CompletableFuture<Long> at = new CompletableFuture<>();
        runtime.schedule(20 * MS, () -> at.complete(runtime.nanoTime()));
        assertThat(at.get(30, TimeUnit.SECONDS) - before).isGreaterThanOrEqualTo(20 * MS);
        assertThat(Math.abs(runtime.wallMillis() - System.currentTimeMillis())).isLessThan(60_000);
    }

    /** No thread of a lock client keeps a process alive, and the name of each thread states its purpose. */
    @Test
    void everyThreadIsADaemonWithAName() throws Exception {
        for (boolean work : new boolean[] {true, false}) {
            CompletableFuture<Thread> thread = new CompletableFuture<>();
            Runnable task = () -> thread.complete(Thread.currentThread());
            if (work) {
                runtime.executeWork(task);
            } else {
                runtime.execute(task);
            }
            assertThat(thread.get(30, TimeUnit.SECONDS).isDaemon()).isTrue();
            assertThat(thread.join().getName()).startsWith(work ? "leasehold-work-" : "leasehold-callback-");
        }
        CompletableFuture<Thread> timer = new CompletableFuture<>();
        runtime.schedule(0, () -> timer.complete(Thread.currentThread()));
        assertThat(timer.get(30, TimeUnit.SECONDS).isDaemon()).isTrue();
        assertThat(timer.join().getName()).startsWith("leasehold-timer-");
    }

    @Test
    void aTaskThatFailsCostsNoOther() throws Exception {
        runtime.execute(() -> {
            throw made();
        });
        CompletableFuture<Void> ran = new CompletableFuture<>();
        runtime.execute(() -> ran.complete(null));
        ran.get(30, TimeUnit.SECONDS);
    }

    /** A user's future may depend on a callback, so callbacks run even after the close. Timers do not. */
    @Test
    void afterTheCloseCallbacksStillRunAndTimersDoNot() throws Exception {
        List<String> ran = Collections.synchronizedList(new ArrayList<>());
        runtime.schedule(10 * MS, () -> ran.add("armed before"));
        runtime.close();
        assertThatCode(() -> runtime.schedule(0, () -> ran.add("armed after")).cancel())
                .doesNotThrowAnyException();
        CompletableFuture<Thread> late = new CompletableFuture<>();
        runtime.execute(() -> {
            late.complete(Thread.currentThread());
            throw made();
        });
        assertThat(late.get(30, TimeUnit.SECONDS).isDaemon()).isTrue();
        CompletableFuture<Thread> work = new CompletableFuture<>();
        runtime.executeWork(() -> work.complete(Thread.currentThread()));
        work.get(30, TimeUnit.SECONDS);
        assertThat(late.join().getName()).startsWith("leasehold-late-callback-");
        assertThat(work.join().getName()).matches("leasehold-(late-callback|work)-.*");
        Thread.sleep(30);
        assertThat(ran).isEmpty();
    }

    @Test
    void waitingEndsWithWhateverEndsTheFuture() throws Exception {
        CompletableFuture<Void> failed = new CompletableFuture<>();
        failed.completeExceptionally(made());
        CompletableFuture<Void> cancelled = new CompletableFuture<>();
        cancelled.cancel(false);
        runtime.await(failed);
        runtime.await(cancelled);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> runtime.await(new CompletableFuture<>())).isInstanceOf(InterruptedException.class);
    }

    @Test
    void chanceIsDrawnForEachAndWithinItsBound() {
        byte[] one = new byte[20];
        byte[] other = new byte[20];
        runtime.randomBytes(one);
        runtime.randomBytes(other);
        assertThat(Arrays.equals(one, other)).isFalse();
        assertThat(one).isNotEqualTo(new byte[20]);
        List<Long> drawn = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            drawn.add(runtime.randomBelow(3));
        }
        assertThat(drawn).contains(0L, 1L, 2L).allMatch(value -> value >= 0 && value < 3);
    }

    @Test
    void whatIsToRunAtTheExitCanBeTakenBack() {
        LockRuntime.Timer hook = runtime.onExit(() -> {
            throw made();
        });
        hook.cancel();
        assertThatCode(hook::cancel).doesNotThrowAnyException();
    }

    /** No duty depends on whether a thread can be started later. */
    @Test
    void theTimersThreadIsThereFromTheBeginning() {
        Set<Thread> before = Thread.getAllStackTraces().keySet();
        SystemLockRuntime another = new SystemLockRuntime();
        assertThat(Thread.getAllStackTraces().keySet())
                .filteredOn(thread -> !before.contains(thread))
                .extracting(Thread::getName)
                .contains("leasehold-timer-1");
        another.close();
    }

    @Test
    void aTimerThatWasCancelledKeepsNothing() throws Exception {
        WeakReference<Object> kept = cancelled();
        for (int tries = 0; tries < 300 && kept.get() != null; tries++) {
            System.gc();
            Thread.sleep(10);
        }
        assertThat(kept.get()).isNull();
    }

    /** Acquiring and releasing a lock all day leaves nothing in the queue of the timers. */
    @Test
    void timersThatWereCancelledTakeNoPlace() throws Exception {
        Field field = SystemLockRuntime.class.getDeclaredField("timers");
        field.setAccessible(true);
        ScheduledThreadPoolExecutor timers = (ScheduledThreadPoolExecutor) field.get(runtime);
        int before = timers.getQueue().size();
        for (int i = 0; i < 10; i++) {
            runtime.schedule(3_600_000 * MS, () -> {}).cancel();
        }
        assertThat(timers.getQueue()).hasSize(before);
    }

    private WeakReference<Object> cancelled() {
        Object object = new Object();
        runtime.schedule(3_600_000 * MS, () -> assertThat(object).isNotNull()).cancel();
        return new WeakReference<>(object);
    }

    @Test
    void aTaskThatFailsIsInTheLog() throws Exception {
        PrintStream before = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
        try {
            runtime.schedule(0, () -> {
                throw made();
            });
            for (int tries = 0;
                    tries < 3_000 && !log.toString(StandardCharsets.UTF_8).contains("made by");
                    tries++) {
                Thread.sleep(10);
            }
        } finally {
            System.setErr(before);
        }
        assertThat(log.toString(StandardCharsets.UTF_8))
                .contains("ERROR", "a task of the lock client failed", "made by the test");
    }
}
