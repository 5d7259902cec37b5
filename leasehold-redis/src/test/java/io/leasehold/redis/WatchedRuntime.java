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
 * A runtime with real time that records the delays of all timers. Timers with too long a delay never fire, so that a
 * machine of any speed shows the timers on which a recovery depends.
 */
public final class WatchedRuntime implements LockRuntime {

    private final LockRuntime real;
    private final LongPredicate happens;
    private volatile LongUnaryOperator sooner = delay -> delay;
    private final AtomicLong laterNanos = new AtomicLong();
    private final Queue<Long> delays = new ConcurrentLinkedQueue<>();
    private final Set<Object> armed = ConcurrentHashMap.newKeySet();

    /**
     * Wraps the real runtime and closes it.
     *
     * @param happens whether a timer with this delay in nanoseconds may fire
     */
    public WatchedRuntime(LockRuntime real, LongPredicate happens) {
        this.real = real;
        this.happens = happens;
    }

    /**
     * From now on, timers with at least the first delay fire after the second one, so that a test sees duties of every
     * minute repeat.
     */
    public void hurry(long leastNanos, long soonNanos) {
        changing(delay -> delay >= leastNanos ? soonNanos : delay);
    }

    /** From now on, this function changes the delay of each timer; it is called once for each, in their order. */
    public void changing(LongUnaryOperator change) {
        sooner = change;
    }

    /** The delays of all scheduled timers, in nanoseconds. */
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

    /** The number of timers that may fire and have neither fired nor been cancelled. */
    public int armed() {
        return armed.size();
    }

    /** Advances the clock; the timers do not change. */
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
