package io.leasehold.testkit.virtual;

import io.leasehold.spi.LockRuntime;
import java.time.Duration;
import java.time.Instant;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;

/**
 * One process of a {@link VirtualWorld}: pass it to {@code Leasehold.builder().runtime(…)}, and the client runs in
 * virtual time.
 *
 * <p>It has its own monotonic and wall clock, both of which can be wrong, and it can stop while the world continues:
 * {@link #pause}, {@link #freeze}, {@link #suspend}, {@link #crash}. The monotonic clock starts anywhere, as
 * {@code System.nanoTime()} does.
 *
 * <p><b>Threads, interruption.</b> See {@link VirtualWorld}. {@link #await} throws {@link InterruptedException} if
 * the thread's interrupt flag is or becomes set, by an event for example.
 */
public final class VirtualRuntime implements LockRuntime {

    private static final Instant FIRST_MOMENT = Instant.parse("2030-01-01T00:00:00Z");

    private final VirtualWorld world;
    private final SplittableRandom random;
    private final DriftingClock wall;
    private final ProcessState state;
    private boolean closed;

    VirtualRuntime(VirtualWorld world, String name, SplittableRandom random) {
        this.world = world;
        this.random = random;
        long now = world.elapsedNanos();
        this.state = new ProcessState(name, new DriftingClock(now, random.nextLong()));
        this.wall = new DriftingClock(now, now);
    }

    /** Creates a world with a single process, for tests of one client. */
    public static VirtualRuntime seeded(long seed) {
        return VirtualWorld.seeded(seed).process("app");
    }

    /** The world it lives in. */
    public VirtualWorld world() {
        return world;
    }

    /** Its name, for messages. */
    public String name() {
        return state.name();
    }

    @Override
    public long nanoTime() {
        requireAlive();
        return monotonicNanos();
    }

    private long monotonicNanos() {
        return state.monotonicNanos(world.elapsedNanos());
    }

    /**
     * Refuses every caller, even a test, after a crash: the code of a crashed process does not continue, so it sends
     * nothing.
     */
    private void requireAlive() {
        if (state.hasCrashed() && !world.strands().areEnding()) {
            throw new IllegalStateException("process \"" + state.name() + "\" of the virtual world has crashed");
        }
    }

    @Override
    public long wallMillis() {
        requireAlive();
        return FIRST_MOMENT.toEpochMilli() + Math.floorDiv(wall.read(world.elapsedNanos()), 1_000_000L);
    }

    @Override
    public Timer schedule(long delayNanos, Runnable task) {
        requireAlive();
        long due = nanoTime() + Math.max(0, Math.min(delayNanos, Long.MAX_VALUE / 4));
        return world.enqueue(WorldEvent.Kind.TIMER, state, state.monotonic().worldNanosAt(due), due, task);
    }

    @Override
    public void execute(Runnable task) {
        requireAlive();
        world.enqueue(WorldEvent.Kind.CALLBACK, state, world.elapsedNanos(), monotonicNanos(), task);
    }

    /**
     * Starts a thread of this process in the virtual world: it runs alone, while the world stands still, and the world
     * continues while the thread waits in {@link #await}. It must not wait in any other way, and must not hold a lock
     * while it waits.
     */
    @Override
    public void startThread(String threadName, Runnable task) {
        requireAlive();
        Strand strand = new Strand(state, task);
        execute(() -> world.strands().goOn(strand));
    }

    /** Lets a message arrive here after a delay of the world's time. */
    void deliver(long delayNanos, Runnable arrival) {
        world.enqueue(WorldEvent.Kind.MESSAGE, state, world.later(delayNanos), monotonicNanos(), arrival);
    }

    @Override
    public void randomBytes(byte[] bytes) {
        requireAlive();
        random.nextBytes(bytes);
    }

    @Override
    public long randomBelow(long bound) {
        requireAlive();
        return random.nextLong(bound);
    }

    /**
     * Runs the world until the future is done and this process is not frozen; on a {@linkplain #startThread thread of
     * the world}, lets the world continue until then.
     *
     * @throws IllegalStateException if no event is left before that, or if this process has crashed
     */
    @Override
    public void await(CompletableFuture<?> future) throws InterruptedException {
        world.requireOwner();
        if (world.strands().awaitOnStrand(state, future)) {
            return;
        }
        while (!state.hasCrashed() && (!future.isDone() || isFrozen())) {
            if (Thread.interrupted()) {
                throw new InterruptedException("interrupted in the virtual world, process \"" + state.name() + '"');
            }
            if (future.isDone()) {
                world.runBefore(state.frozenUntilNanos());
            } else if (!world.step()) {
                throw world.deadlock("what process \"" + state.name() + "\" waits for has not come");
            }
        }
        requireAlive();
    }

    /** Marks this runtime as closed; the world continues, since several clients of a test may share one runtime. */
    @Override
    public void close() {
        closed = true;
    }

    /** Whether {@link #close} was called. */
    public boolean isClosed() {
        return closed;
    }

    /** As {@link VirtualWorld#runFor}. */
    public void runFor(Duration duration) {
        world.runFor(duration);
    }

    /** As {@link VirtualWorld#runUntilIdle}. */
    public void runUntilIdle() {
        world.runUntilIdle();
    }

    /**
     * Pauses this process as a long garbage collection would: when this method returns, the time has passed, other
     * processes have continued, and this one has not run. Overdue events run with the next step of the world.
     */
    public void pause(Duration duration) {
        freeze(duration);
        world.runBefore(state.frozenUntilNanos());
    }

    /** Stops this process from outside for this time, and returns at once: a SIGSTOP followed by a SIGCONT. */
    public void freeze(Duration duration) {
        world.requireOwner();
        state.freezeUntil(world.later(duration.toNanos()));
        world.note(state.name() + " frozen for " + duration);
    }

    /**
     * As {@link #freeze}, but the monotonic clock also stands still until then, as when a machine sleeps; overlapping sleeps
     * count once. The process cannot notice the sleep before the world has advanced by its length.
     */
    public void suspend(Duration duration) {
        freeze(duration);
        state.sleep(world.elapsedNanos(), world.later(duration.toNanos()));
    }

    /**
     * Ends this process: none of its code ever runs again. If a test calls it after that (for example a release), the
     * call sends nothing and throws {@link IllegalStateException}, as does every use of this runtime.
     * {@code Lease.close()} throws nothing, and sends nothing either.
     */
    public void crash() {
        world.requireOwner();
        state.crash();
        world.note(state.name() + " crashed");
    }

    /** Whether {@link #crash} was called. */
    public boolean hasCrashed() {
        return state.hasCrashed();
    }

    /** Whether the process is frozen now. */
    public boolean isFrozen() {
        return state.isFrozen(world.elapsedNanos());
    }

    /** For how long its machine still sleeps; zero if it is awake. */
    public long asleepForNanos() {
        return state.asleepForNanos(world.elapsedNanos());
    }

    /** The moment of the world at which the monotonic clock will have advanced by this amount. */
    public long worldNanosAfter(long localNanos) {
        return state.monotonic().worldNanosAt(monotonicNanos() + localNanos);
    }

    /** Steps the wall clock, forwards or backwards; no other clock is affected. */
    public void stepWallClock(Duration by) {
        wall.step(world.elapsedNanos(), by.toNanos());
    }

    /** Sets the rate of the wall clock; 1.0 is correct, 1.05 is 5 % fast. */
    public void wallClockRate(double rate) {
        wallClock(new ClockShape.Linear(rate));
    }

    /** Sets the rate of the monotonic clock, and with it of every timer. */
    public void monotonicRate(double rate) {
        monotonicClock(new ClockShape.Linear(rate));
    }

    /** Applies this deviation to the wall clock; no other clock is affected. */
    public void wallClock(ClockShape shape) {
        wall.shape(world.elapsedNanos(), shape);
    }

    /**
     * Applies this deviation to the monotonic clock, and so to every timer. A step models the clock of a server, by
     * which keys expire; the monotonic clock of a client never steps.
     */
    public void monotonicClock(ClockShape shape) {
        state.monotonic().shape(world.elapsedNanos(), shape);
    }

    @Override
    public String toString() {
        return "VirtualRuntime(" + state.name() + ", seed " + world.seed() + ')';
    }
}
