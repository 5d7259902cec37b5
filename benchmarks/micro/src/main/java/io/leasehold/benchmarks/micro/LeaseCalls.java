package io.leasehold.benchmarks.micro;

import io.leasehold.DistributedLock;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.fencing.Admission;
import io.leasehold.fencing.FencingGuard;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * The calls that a program makes most often. The store is in this process, so the result is the client's own work; with
 * {@code -prof gc} also its garbage.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class LeaseCalls {

    private static final Duration SECOND = Duration.ofSeconds(1);

    private final FencingGuard guard = FencingGuard.inMemory();
    private LockClient client;
    private DistributedLock lock;
    private Lease held;
    private Lock reentered;
    private int next;

    /** Connects, and acquires the locks to be queried. */
    @Setup(Level.Trial)
    public void open() throws InterruptedException {
        client = Leasehold.connect("memory:");
        lock = client.named("free");
        held = client.named("held").acquire();
        reentered = client.named("reentered").asReentrantLock();
    }

    /** Releases all locks. */
    @TearDown(Level.Trial)
    public void close() {
        held.close();
        client.close();
    }

    /** Acquires a lock without contention, and releases it. */
    @Benchmark
    public long acquireAndRelease() throws InterruptedException {
        try (Lease lease = lock.acquire()) {
            return lease.fencingToken();
        }
    }

    /** Locks a lock that this thread already holds, and unlocks it once. */
    @Benchmark
    public int reentry(Holding holding) {
        holding.lock.lock();
        try {
            return next++;
        } finally {
            holding.lock.unlock();
        }
    }

    /** Checks the lease as before a side effect. */
    @Benchmark
    public void ensureValidFor() {
        held.ensureValidFor(SECOND);
    }

    /** Checks whether the lease is valid. */
    @Benchmark
    public boolean isValid() {
        return held.isValid();
    }

    /** Creates a name from a template and a part. */
    @Benchmark
    public LockName name() {
        return LockName.of("order:{id}", next++);
    }

    /** Creates a lock from a name; sends nothing. */
    @Benchmark
    public DistributedLock named() {
        return client.named("order:1001");
    }

    /** Presents a token to a guard in this process. */
    @Benchmark
    public Admission admit() {
        return guard.admit("order:1001", held.fencingToken());
    }

    /** A lock that the measuring thread holds. */
    @State(Scope.Thread)
    public static class Holding {

        private Lock lock;

        /** Acquires it once. */
        @Setup(Level.Iteration)
        public void hold(LeaseCalls calls) {
            lock = calls.reentered;
            lock.lock();
        }

        /** Releases it. */
        @TearDown(Level.Iteration)
        public void giveBack() {
            lock.unlock();
        }
    }
}
