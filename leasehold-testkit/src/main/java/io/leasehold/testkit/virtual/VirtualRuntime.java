package io.leasehold.testkit.virtual;

import io.leasehold.spi.LockRuntime;
import java.time.Duration;
import java.time.Instant;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;

/**
 * One process of a {@link VirtualWorld}: give it to {@code Leasehold.builder().runtime(…)}, and the lock lives in
 * virtual time.
 *
 * <p>It has a monotonic and a wall clock of its own, both of which can run wrong, and it can stand still while
 * the world goes on: {@link #pause}, {@link #freeze}, {@link #suspend}, {@link #crash}. The monotonic clock starts
 * anywhere, as {@code System.nanoTime()} does.
 *
 * <p><b>Threads, interruption.</b> See {@link VirtualWorld}. {@link #await} throws {@link InterruptedException} if
 * the thread's interrupt flag is or becomes set, by an event for example.
 */
public final class VirtualRuntime implements LockRuntime {

    private static final Instant FIRST_MOMENT = Instant.parse("2030-01-01T00:00:00Z");

    private final VirtualWorld world;
    private final String name;
    private final SplittableRandom random;
    private final DriftingClock monotonic;
    private final DriftingClock wall;
    private long frozenUntilNanos = Long.MIN_VALUE;
    private long asleepUntilNanos;
    private boolean crashed;
    private boolean closed;

    VirtualRuntime(VirtualWorld world, String name, SplittableRandom random) {
        this.world = world;
        this.name = name;
        this.random = random;
        long now = world.elapsedNanos();
        this.monotonic = new DriftingClock(now, random.nextLong());
        this.wall = new DriftingClock(now, now);
    }

    /** A world with a single process, for tests of one client. */
    public static VirtualRuntime seeded(long seed) {
        return VirtualWorld.seeded(seed).process("app");
    }

    /** The world it lives in. */
    public VirtualWorld world() {
        return world;
    }

    /** Its name, for people. */
    public String name() {
        return name;
    }

    @Override
    public long nanoTime() {
        requireAlive();
        return monotonicNanos();
    }

    private long monotonicNanos() {
        return monotonic.read(world.elapsedNanos());
    }

    /** Whatever calls, be it a test: the code of a process that has crashed does not go on, so it sends nothing. */
    private void requireAlive() {
        if (crashed && !world.strands().areEnding()) {
            throw new IllegalStateException("process \"" + name + "\" of the virtual world has crashed");
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
        return world.enqueue(WorldEvent.Kind.TIMER, this, monotonic.worldNanosAt(due), due, task);
    }

    @Override
    public void execute(Runnable task) {
        requireAlive();
        world.enqueue(WorldEvent.Kind.CALLBACK, this, world.elapsedNanos(), monotonicNanos(), task);
    }

    /**
     * A thread of this process, that is, of the virtual world: it runs alone, while the world stands still, and the world goes
     * on while it waits in {@link #await}. It must wait for nothing else, and hold no lock while it waits.
     */
    @Override
    public void startThread(String threadName, Runnable task) {
        requireAlive();
        Strand strand = new Strand(this, task);
        execute(() -> world.strands().goOn(strand));
    }

    /** Lets a message arrive here after a delay of the world's time. */
    void deliver(long delayNanos, Runnable arrival) {
        world.enqueue(WorldEvent.Kind.MESSAGE, this, world.later(delayNanos), monotonicNanos(), arrival);
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
     * Runs the world until the future is done and this process is not frozen; on a {@linkplain #startThread thread of the world},
     * lets the world go on until then.
     *
     * @throws IllegalStateException if nothing is left to do before that, or if this process has crashed
     */
    @Override
    public void await(CompletableFuture<?> future) throws InterruptedException {
        world.requireOwner();
        if (world.strands().awaitOnStrand(this, future)) {
            return;
        }
        while (!crashed && (!future.isDone() || isFrozen())) {
            if (Thread.interrupted()) {
                throw new InterruptedException("interrupted in the virtual world, process \"" + name + '"');
            }
            if (future.isDone()) {
                world.runBefore(frozenUntilNanos);
            } else if (!world.step()) {
                throw world.deadlock("what process \"" + name + "\" waits for has not come");
            }
        }
        requireAlive();
    }

    /** Remembers it; the world goes on, since several clients of a test may share one runtime. */
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
     * A pause of this process that the caller sees, such as a long garbage collection: when this returns, so
     * much time has passed; other processes went on, and nothing of this one has run. What became overdue runs
     * with the next step of the world.
     */
    public void pause(Duration duration) {
        freeze(duration);
        world.runBefore(frozenUntilNanos);
    }

    /** Stops this process from outside for so long, and returns at once: a SIGSTOP that a SIGCONT follows. */
    public void freeze(Duration duration) {
        world.requireOwner();
        frozenUntilNanos = Math.max(frozenUntilNanos, world.later(duration.toNanos()));
        world.note(name + " frozen for " + duration);
    }

    /** Like {@link #freeze}, and the monotonic clock stands still too, as when a machine sleeps: once, where two overlap. */
    public void suspend(Duration duration) {
        freeze(duration);
        long untilNanos = world.later(duration.toNanos());
        long moreNanos = untilNanos - Math.max(world.elapsedNanos(), asleepUntilNanos);
        if (moreNanos > 0) {
            monotonic.step(world.elapsedNanos(), -moreNanos);
            asleepUntilNanos = untilNanos;
        }
    }

    /**
     * Ends this process: nothing of it ever runs again. What a test calls of it after that (a release, say) sends nothing
     * and throws {@link IllegalStateException}, as does every use of this runtime; {@code Lease.close()} throws nothing,
     * and sends nothing either.
     */
    public void crash() {
        world.requireOwner();
        crashed = true;
        world.note(name + " crashed");
    }

    /** Whether {@link #crash} was called. */
    public boolean hasCrashed() {
        return crashed;
    }

    /** Whether it stands still now. */
    public boolean isFrozen() {
        return frozenUntilNanos > world.elapsedNanos();
    }

    /** The moment of the world at which its monotonic clock will have gone on by so much. */
    public long worldNanosAfter(long localNanos) {
        return monotonic.worldNanosAt(monotonicNanos() + localNanos);
    }

    /** Steps the wall clock, forwards or backwards; no other clock is concerned. */
    public void stepWallClock(Duration by) {
        wall.step(world.elapsedNanos(), by.toNanos());
    }

    /** From now on the wall clock runs at this rate; 1.0 is right, 1.05 is 5 % fast. */
    public void wallClockRate(double rate) {
        wallClock(new ClockShape.Linear(rate));
    }

    /** From now on the monotonic clock, and with it every timer, runs at this rate. */
    public void monotonicRate(double rate) {
        monotonicClock(new ClockShape.Linear(rate));
    }

    /** Does this to the wall clock; no other clock is concerned. */
    public void wallClock(ClockShape shape) {
        wall.shape(world.elapsedNanos(), shape);
    }

    /**
     * Does this to the monotonic clock, and so to every timer. A step stands for the clock of a server, by which keys
     * expire; no monotonic clock of a client does that.
     */
    public void monotonicClock(ClockShape shape) {
        monotonic.shape(world.elapsedNanos(), shape);
    }

    /** When an event that is due may really run: not while frozen, and a timer not before its own clock says so. */
    long readyAtNanos(WorldEvent event) {
        long ready = Math.max(event.runAtNanos, frozenUntilNanos);
        if (event.kind == WorldEvent.Kind.TIMER && monotonic.read(ready) - event.localDueAtNanos < 0) {
            ready = monotonic.worldNanosAt(event.localDueAtNanos);
        }
        return ready;
    }

    @Override
    public String toString() {
        return "VirtualRuntime(" + name + ", seed " + world.seed() + ')';
    }
}
