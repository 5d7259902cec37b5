package io.leasehold.testkit.virtual;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A deterministic world: time passes only while a thread runs it, events happen one after another in one thread, and a
 * seed determines their order and all randomness.
 *
 * <p><b>Guarantee.</b> The same seed and the same program give the same events in the same order, which
 * {@link #traceHash()} proves. Events that are due at the same nanosecond happen in a random order.
 *
 * <p><b>Processes.</b> {@link #process} creates the {@link VirtualRuntime} of one process: it has its own clocks, and
 * can be paused, frozen, suspended and crashed while the others continue.
 *
 * <p><b>Threads.</b> It belongs to the thread that created it, and to those that its processes
 * {@linkplain VirtualRuntime#startThread start}; one of them runs at a time. Other threads are refused with
 * {@link IllegalStateException}. A waiting method may be called from within an event, unless a process has started
 * threads; the world then continues inside it.
 */
public final class VirtualWorld {

    /** The number of events at one moment from which on a program goes round in a circle. */
    private static final int CIRCLE = 1_000_000;

    private static final Duration NEVER_IDLE = Duration.ofDays(3650);

    private final long seed;
    private final SplittableRandom random;
    private final PriorityQueue<WorldEvent> queue = new PriorityQueue<>(WorldEvent.ORDER);
    private final List<VirtualRuntime> processes = new ArrayList<>();
    private final Strands strands = new Strands(this);
    private @Nullable Consumer<String> traceListener;
    private long nowNanos;
    private long numbered;
    private long eventsRun;
    private int eventsAtThisMoment;
    private long hash;

    private VirtualWorld(long seed) {
        this.seed = seed;
        this.random = new SplittableRandom(seed);
        this.hash = seed;
    }

    /** Creates a new world at time zero. */
    public static VirtualWorld seeded(long seed) {
        return new VirtualWorld(seed);
    }

    /** Creates a process of this world; names are for messages and need not differ. */
    public VirtualRuntime process(String name) {
        requireOwner();
        VirtualRuntime process = new VirtualRuntime(this, Objects.requireNonNull(name, "name"), random.split());
        processes.add(process);
        return process;
    }

    /** The seed, which makes this run repeatable. */
    public long seed() {
        return seed;
    }

    /** The age of this world in nanoseconds: the true time, which no process sees. */
    public long elapsedNanos() {
        return nowNanos;
    }

    /** The age of this world. */
    public Duration elapsed() {
        return Duration.ofNanos(nowNanos);
    }

    /** The number of events that have happened. */
    public long eventsRun() {
        return eventsRun;
    }

    /** The number of pending events: timers, callbacks, messages and script steps. */
    public int pendingEvents() {
        return (int) queue.stream().filter(e -> !e.isOver()).count();
    }

    /** A number that two runs share only if they had the same seed, the same events and the same {@link #note}s. */
    public long traceHash() {
        return hash;
    }

    /** Adds a line to the trace, and so to its hash. */
    public void note(String line) {
        mix(line.hashCode());
        Consumer<String> listener = traceListener;
        if (listener != null) {
            listener.accept(moment() + " " + line);
        }
    }

    /** Registers a listener that receives each event and note as a line, for debugging. */
    public void onTrace(Consumer<String> listener) {
        traceListener = Objects.requireNonNull(listener, "listener");
    }

    /**
     * Draws a uniformly distributed number from zero (included) to {@code bound} (excluded): for the script of a test.
     */
    public long randomBelow(long bound) {
        return random.nextLong(bound);
    }

    /** Draws whether an event of this probability happens. */
    public boolean chance(double probability) {
        return probability > 0.0 && random.nextDouble() < probability;
    }

    /** Schedules a step of a test's script; it belongs to no process, and nothing can stop it. */
    public void after(Duration delay, Runnable step) {
        enqueue(WorldEvent.Kind.SCRIPT, null, later(delay.toNanos()), 0, step);
    }

    /** Runs all events that are due within the duration; afterwards exactly this time has passed. */
    public void runFor(Duration duration) {
        requireOwner();
        long target = later(duration.toNanos());
        strands.runWhile(() -> {
            WorldEvent next = peek();
            return next != null && next.runAtNanos <= target;
        });
        advanceTo(target);
    }

    /** Runs everything that is due before the moment; then it is that moment. */
    void runBefore(long momentNanos) {
        strands.runWhile(() -> {
            WorldEvent next = peek();
            return next != null && next.runAtNanos < momentNanos;
        });
        advanceTo(momentNanos);
    }

    /**
     * Runs until no event is left.
     *
     * @throws IllegalStateException if events are left after ten years: a lease that renews itself never idles
     */
    public void runUntilIdle() {
        requireOwner();
        long limit = later(NEVER_IDLE.toNanos());
        while (step()) {
            if (nowNanos > limit) {
                throw new IllegalStateException("the virtual world does not become idle (" + where()
                        + "); a held lease renews itself forever: release it, or use runFor");
            }
        }
    }

    /**
     * Runs until the condition holds, at most for the given time.
     *
     * @return whether it holds
     */
    public boolean runUntil(BooleanSupplier condition, Duration limit) {
        requireOwner();
        long limitNanos = later(limit.toNanos());
        boolean[] holds = {false};
        strands.runWhile(() -> {
            holds[0] = condition.getAsBoolean();
            WorldEvent next = holds[0] ? null : peek();
            return next != null && next.runAtNanos <= limitNanos;
        });
        if (holds[0]) {
            return true;
        }
        advanceTo(limitNanos);
        return condition.getAsBoolean();
    }

    /**
     * Runs until the future is done.
     *
     * @return its value
     * @throws IllegalStateException if no event is left before that
     * @throws java.util.concurrent.CompletionException if it completed exceptionally
     */
    public <T> T runUntilDone(CompletableFuture<T> future) {
        requireOwner();
        while (!future.isDone()) {
            if (!step()) {
                throw deadlock("a future is not done");
            }
        }
        return future.join();
    }

    /** Runs the next event, if there is one. */
    public boolean step() {
        requireOwner();
        WorldEvent next = peek();
        if (next == null) {
            return false;
        }
        queue.remove();
        advanceTo(next.runAtNanos);
        if (++eventsAtThisMoment > CIRCLE) {
            throw new IllegalStateException(CIRCLE + " events without any time passing (" + where()
                    + "): something reschedules itself with no delay");
        }
        ProcessState process = next.process;
        if (process != null && process.hasCrashed()) {
            next.finish();
            return true;
        }
        long ready = process == null ? nowNanos : process.readyAtNanos(next);
        if (ready > nowNanos) {
            next.runAtNanos = ready;
            queue.add(next);
            return true;
        }
        run(next);
        return true;
    }

    private void run(WorldEvent event) {
        event.finish();
        eventsRun++;
        mix(nowNanos);
        mix(event.number);
        Consumer<String> listener = traceListener;
        if (listener != null) {
            String who = event.process == null ? "world" : event.process.name();
            listener.accept(moment() + " " + who + " " + event.kind + " #" + event.number);
        }
        event.task.run();
    }

    /**
     * Ends the threads that processes have started and that still wait, including those of crashed processes: their
     * current and later waits fail. Time stands still from now on.
     *
     * @param closing closes the objects that the threads serve, so that they return
     */
    public void end(Runnable closing) {
        requireOwner();
        strands.end(closing);
    }

    Strands strands() {
        return strands;
    }

    WorldEvent enqueue(
            WorldEvent.Kind kind, @Nullable ProcessState process, long atNanos, long localDueAtNanos, Runnable task) {
        requireOwner();
        WorldEvent event = new WorldEvent(
                kind, process, numbered++, random.nextInt(), Math.max(atNanos, nowNanos), localDueAtNanos, task);
        queue.add(event);
        return event;
    }

    IllegalStateException deadlock(String what) {
        return new IllegalStateException(
                "deadlock: nothing left to do in the virtual world, and " + what + " (" + where() + ")");
    }

    /** A moment {@code delayNanos} from now, saturated far in the future. */
    long later(long delayNanos) {
        if (delayNanos <= 0) {
            return nowNanos;
        }
        return nowNanos + Math.min(delayNanos, Long.MAX_VALUE / 4);
    }

    void requireOwner() {
        if (!strands.isTurnOf(Thread.currentThread())) {
            throw new IllegalStateException(
                    "this virtual world belongs to thread \"" + strands.owner().getName()
                            + "\" and was used by \"" + Thread.currentThread().getName()
                            + "\"; everything in it runs in that thread, or in those that its processes start, so use the asynchronous methods");
        }
    }

    private @Nullable WorldEvent peek() {
        WorldEvent next = queue.peek();
        while (next != null && next.isOver()) {
            queue.remove();
            next = queue.peek();
        }
        return next;
    }

    private void advanceTo(long momentNanos) {
        if (momentNanos > nowNanos) {
            nowNanos = momentNanos;
            eventsAtThisMoment = 0;
        }
    }

    private void mix(long value) {
        long mixed = (hash ^ value) * 0x9E3779B97F4A7C15L;
        hash = mixed ^ (mixed >>> 29);
    }

    private String moment() {
        return String.format(java.util.Locale.ROOT, "%.9f", nowNanos / 1e9);
    }

    private String where() {
        return "seed " + seed + ", at " + moment() + " s, after " + eventsRun + " events, " + processes.size()
                + " processes";
    }
}
