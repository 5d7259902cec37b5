package io.leasehold.redis;

import io.leasehold.spi.LockRuntime;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongPredicate;
import java.util.function.LongUnaryOperator;

/**
 * Real time, of which it is known what was put off for how long, and in which what is put off for too long never happens: so
 * a machine of any speed shows what a recovery waits for.
 */
public final class WatchedRuntime implements LockRuntime {

    private final LockRuntime real;
    private final LongPredicate happens;
    private volatile LongUnaryOperator sooner = delay -> delay;
    private final AtomicLong laterNanos = new AtomicLong();
    private final Queue<Long> delays = new ConcurrentLinkedQueue<>();
    private final Set<Object> armed = ConcurrentHashMap.newKeySet();

    /**
     * Over the real one, which is closed with it.
     *
     * @param happens takes a delay in nanoseconds
     */
    public WatchedRuntime(LockRuntime real, LongPredicate happens) {
        this.real = real;
        this.happens = happens;
    }

    /**
     * From now on what is put off for so long, or longer, happens as soon as this: what comes by the minute is seen to come again.
     */
    public void hurry(long leastNanos, long soonNanos) {
        changing(delay -> delay >= leastNanos ? soonNanos : delay);
    }

    /** From now on what is put off happens after what this says; it is asked once for each, in their order. */
    public void changing(LongUnaryOperator change) {
        sooner = change;
    }

    /** For how long what was scheduled was put off, in nanoseconds. */
    public List<Long> delays() {
        return List.copyOf(delays);
    }

    @Override
    public Timer schedule(long delayNanos, Runnable task) {
        delays.add(delayNanos);
        if (!happens.test(delayNanos)) {
            return () -> {};
        }
        Object one = new Object();
        armed.add(one);
        Timer timer = real.schedule(sooner.applyAsLong(delayNanos), () -> {
            armed.remove(one);
            task.run();
        });
        return () -> {
            armed.remove(one);
            timer.cancel();
        };
    }

    /** How much of what was put off, and may happen, has neither happened nor been called off. */
    public int armed() {
        return armed.size();
    }

    /** Sets the clock forward; what was put off stays put off. */
    public void passes(long nanos) {
        laterNanos.addAndGet(nanos);
    }

    @Override
    public long nanoTime() {
        return real.nanoTime() + laterNanos.get();
    }

    @Override
    public long wallMillis() {
        return real.wallMillis();
    }

    @Override
    public void execute(Runnable task) {
        real.execute(task);
    }

    @Override
    public void randomBytes(byte[] bytes) {
        real.randomBytes(bytes);
    }

    @Override
    public long randomBelow(long bound) {
        return real.randomBelow(bound);
    }

    @Override
    public void await(CompletableFuture<?> future) throws InterruptedException {
        real.await(future);
    }

    @Override
    public void close() {
        real.close();
    }
}
