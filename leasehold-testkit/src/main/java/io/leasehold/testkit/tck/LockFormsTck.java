package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.leasehold.Lease;
import io.leasehold.LockBusyException;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.ReentrantLockView;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;

/** Tests of the other forms of the lock: reentrant view, asynchronous forms, {@code holdWhile}. */
public interface LockFormsTck extends SharesStore {

    /** The reentrant view counts per thread, keeps its token, and excludes other threads and clients. */
    @Test
    @SuppressWarnings("LockNotBeforeTry") // Counting is what is tested; a client that closes releases.
    default void reentrantViewCounts(TckBench bench) throws InterruptedException {
        LockClient client = bench.client();
        LockClient other = bench.client();
        LockName name = bench.name("reentrant");
        ReentrantLockView view = client.named(name).asReentrantLock();
        assertFalse(view.isHeldByCurrentThread());
        assertThrows(IllegalMonitorStateException.class, view::unlock);
        view.lock();
        long token = view.fencingToken();
        assertTrue(client.named(name).asReentrantLock().tryLock(), "another view of the same thread");
        assertTrue(view.tryLock(-1, TimeUnit.SECONDS));
        assertEquals(3, view.getHoldCount());
        assertEquals(token, view.fencingToken());
        TaskErrors errors = new TaskErrors();
        errors.join(List.of(errors.start("other-thread", () -> {
            assertFalse(view.tryLock());
            assertFalse(view.isHeldByCurrentThread());
            assertEquals(0, view.getHoldCount());
            assertThrows(IllegalMonitorStateException.class, view::unlock);
        })));
        assertNull(other.named(name).tryAcquire(Duration.ZERO));
        view.unlock();
        view.unlock();
        assertTrue(view.isHeldByCurrentThread());
        assertNull(other.named(name).tryAcquire(Duration.ZERO));
        view.unlock();
        assertFalse(view.isHeldByCurrentThread());
        assertThrows(IllegalMonitorStateException.class, view::unlock);
        try (Lease lease = other.named(name).tryAcquire(TckBench.PATIENCE)) {
            assertNotNull(lease);
        }
    }

    /** {@code holdWhile} holds the lock exactly until the stage has completed, normally or not. */
    @Test
    default void holdWhileHoldsForTheStage(TckBench bench) throws InterruptedException {
        LockClient client = bench.client();
        LockClient other = bench.client();
        LockName name = bench.name("while");
        CompletableFuture<String> work = new CompletableFuture<>();
        CompletableFuture<Long> begun = new CompletableFuture<>();
        CompletableFuture<String> done = client.named(name).holdWhile(TckBench.PATIENCE, lease -> {
            begun.complete(lease.fencingToken());
            return work;
        });
        assertTrue(TckBench.join(begun) > 0);
        assertNull(other.named(name).tryAcquire(Duration.ZERO));
        CompletableFuture<Integer> refused =
                other.named(name).holdWhile(Duration.ZERO, lease -> CompletableFuture.completedFuture(1));
        CompletionException busy = assertThrows(CompletionException.class, () -> TckBench.join(refused));
        assertInstanceOf(LockBusyException.class, busy.getCause());
        work.complete("done");
        assertEquals("done", TckBench.join(done));
        CompletableFuture<Integer> failing = other.named(name).holdWhile(TckBench.PATIENCE, lease -> {
            throw new IllegalStateException("work failed");
        });
        CompletionException failed = assertThrows(CompletionException.class, () -> TckBench.join(failing));
        assertTrue(String.valueOf(failed.getCause()).contains("work failed"));
        try (Lease lease = client.named(name).tryAcquire(TckBench.PATIENCE)) {
            assertNotNull(lease);
        }
    }

    /** Many pending asynchronous attempts need no threads, and all are served. */
    @Test
    @ResourceLock(TckBench.STORE)
    default void pendingAttemptsNeedNoThreads(TckBench bench) throws InterruptedException {
        LockName name = bench.name("pending");
        LockClient client = bench.client();
        Lease held = client.named(name).acquire();
        int threadsBefore = Thread.activeCount();
        List<CompletableFuture<Void>> pending = java.util.stream.IntStream.range(0, 300)
                .mapToObj(i -> client.named(name).acquireAsync().thenAccept(Lease::close))
                .toList();
        assertTrue(Thread.activeCount() - threadsBefore <= 5, "threads: " + (Thread.activeCount() - threadsBefore));
        held.release();
        TckBench.join(CompletableFuture.allOf(pending.toArray(CompletableFuture[]::new)));
    }
}
