package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.ReentrantLockView;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests of virtual threads, if the JDK has them: they wait without occupying a carrier, re-enter by Thread object, and
 * are interrupted.
 */
@SuppressWarnings({"LockNotBeforeTry", "ThreadPriorityCheck"}) // A yield widens the race that only the lock prevents.
@Tag("quick")
class VirtualThreadSmokeTest {

    private static final int WAITERS = 10_000;
    private static final int NAMES = 300;

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final Queue<Throwable> errors = new ConcurrentLinkedQueue<>();
    private LockClient client;

    @BeforeEach
    void connect() {
        int feature = Runtime.version().feature();
        assumeTrue(feature >= 21, "virtual threads need a JDK 21 or newer; this is " + feature);
        client = Leasehold.builder()
                .store(SERVER.server().uri())
                .defaults(LockOptions.defaults().ttl(Duration.ofMinutes(10)))
                .connect();
    }

    @AfterEach
    void close() {
        if (client != null) {
            client.close();
        }
    }

    private interface Task {
        void run() throws Exception;
    }

    private Thread startVirtual(Task task) {
        Thread thread = NewestThreads.unstarted(() -> {
            try {
                task.run();
            } catch (Throwable e) {
                errors.add(e);
            }
        });
        thread.start();
        return thread;
    }

    private void join(Thread thread) throws InterruptedException {
        thread.join(TimeUnit.MINUTES.toMillis(5));
        assertThat(thread.isAlive()).isFalse();
    }

    /** Far more waiters than carriers: if a waiter occupied a carrier, the first few would block all others. */
    @Test
    void tenThousandWaitersKeepNoCarrierAndFewConnections(@TempDir Path folder) throws Exception {
        int[] counters = new int[NAMES];
        // The first recording initializes the event classes, and other threads wait for that with their carriers.
        try (Recording first = new Recording()) {
            first.start();
            contend(500, new int[NAMES]);
        }
        long connectionsBefore = SERVER.redis().clientList().lines().count();
        List<RecordedEvent> pinned;
        try (Recording recording = new Recording()) {
            recording
                    .enable("jdk.VirtualThreadPinned")
                    .withThreshold(Duration.ZERO)
                    .withStackTrace();
            recording.start();
            contend(WAITERS, counters);
            pinned = pinned(recording, folder);
        }
        assertThat(errors).isEmpty();
        int sum = 0;
        for (int counter : counters) {
            sum += counter;
        }
        assertThat(sum).isEqualTo(WAITERS);
        assertThat(pinned).isEmpty();
        assertThat(SERVER.redis().clientList().lines().count()).isLessThanOrEqualTo(connectionsBefore + 2);
        assertThat(SERVER.redis().keys("lock:*}")).isEmpty();
    }

    private void contend(int waiters, int[] counters) throws InterruptedException {
        CountDownLatch start = new CountDownLatch(1);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < waiters; i++) {
            int name = i % NAMES;
            threads.add(startVirtual(() -> {
                start.await();
                ReentrantLockView view = client.named("virtual:" + name).asReentrantLock();
                view.lock();
                try {
                    // Only the lock makes this add up.
                    int seen = counters[name];
                    Thread.yield();
                    counters[name] = seen + 1;
                } finally {
                    view.unlock();
                }
            }));
        }
        start.countDown();
        for (Thread thread : threads) {
            join(thread);
        }
    }

    /** The events with code of this project on the stack. */
    private static List<RecordedEvent> pinned(Recording recording, Path folder) throws IOException {
        recording.stop();
        Path file = folder.resolve("pinned.jfr");
        recording.dump(file);
        assertThat(Files.size(file)).isPositive();
        return RecordingFile.readAllEvents(file).stream()
                .filter(event -> event.getEventType().getName().equals("jdk.VirtualThreadPinned"))
                .filter(event -> event.getStackTrace() != null
                        && event.getStackTrace().getFrames().stream()
                                .anyMatch(frame ->
                                        frame.getMethod().getType().getName().startsWith("io.leasehold.")
                                                && !frame.getMethod()
                                                        .getType()
                                                        .getName()
                                                        .contains("SmokeTest")))
                .toList();
    }

    @Test
    void reEntryCountsByThreadObject() throws Exception {
        ReentrantLockView view = client.named("reentrant").asReentrantLock();
        CountDownLatch holds = new CountDownLatch(1);
        CountDownLatch over = new CountDownLatch(1);
        Thread holder = startVirtual(() -> {
            view.lock();
            view.lock();
            assertThat(view.getHoldCount()).isEqualTo(2);
            holds.countDown();
            over.await();
            assertThat(view.isHeldByCurrentThread())
                    .as("after it was parked, on whatever carrier")
                    .isTrue();
            view.unlock();
            view.unlock();
        });
        holds.await();
        Thread other = startVirtual(() -> {
            assertThat(view.isHeldByCurrentThread()).isFalse();
            assertThat(view.tryLock()).isFalse();
            assertThatThrownBy(view::unlock).isInstanceOf(IllegalMonitorStateException.class);
        });
        join(other);
        over.countDown();
        join(holder);
        assertThat(errors).isEmpty();
        assertThat(SERVER.redis().keys("lock:*}")).isEmpty();
    }

    @Test
    void aWaitingVirtualThreadIsInterruptedLikeAnyOther() throws Exception {
        LockName name = LockName.exactly("interrupted");
        Lease held = client.named(name).acquire();
        AtomicBoolean timed = new AtomicBoolean();
        Thread waiter = startVirtual(() -> {
            assertThatThrownBy(() -> client.named(name).acquire()).isInstanceOf(InterruptedException.class);
            assertThatThrownBy(() -> client.named(name).asReentrantLock().tryLock(5, TimeUnit.MINUTES))
                    .isInstanceOf(InterruptedException.class);
            timed.set(true);
            Thread.currentThread().interrupt();
            client.named("free").asReentrantLock().lock();
            assertThat(Thread.currentThread().isInterrupted()).isTrue();
            client.named("free").asReentrantLock().unlock();
        });
        while (waiter.isAlive()) {
            if (!timed.get()) {
                waiter.interrupt();
            }
            waiter.join(20);
        }
        assertThat(errors).isEmpty();
        held.release();
        NodeBench.until(
                "no client waits or holds",
                () -> SERVER.redis().keys("lock:*:queued").isEmpty()
                        && SERVER.redis().keys("lock:*}").isEmpty());
    }
}
