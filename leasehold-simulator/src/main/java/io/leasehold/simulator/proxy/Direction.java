package io.leasehold.simulator.proxy;

import java.time.Duration;

/**
 * One direction of all present and future connections of a {@link TcpProxy}, and the faults it suffers.
 *
 * <p>Faults add up until {@link #heal()}: bytes can be delayed and dribble. Each method returns once the fault is in force,
 * and this direction, for chaining. Safe for use by any thread.
 */
public final class Direction {
    private final ProxyLoop loop;
    private final String name;

    // All state belongs to the loop's thread.
    private long delayNanos;
    private long jitterNanos;
    private boolean stalled;
    private boolean dropping;
    private int bytesPerSecond;
    private long bytesUntilReset = -1;
    private long passed;
    private long delayed;
    private long held;
    private long dropped;
    private long dribbled;

    Direction(ProxyLoop loop, String name) {
        this.loop = loop;
        this.name = name;
    }

    /** Makes every byte wait this long. Bytes already under way keep their time. */
    public Direction delay(Duration delay) {
        return delay(delay, Duration.ZERO);
    }

    /**
     * Makes every chunk wait {@code delay} plus a random part of {@code jitter}. Within a connection the order stays, as it
     * does in TCP; over several connections it does not.
     */
    public Direction delay(Duration delay, Duration jitter) {
        long newDelayNanos = notNegative(delay, "delay");
        long newJitterNanos = notNegative(jitter, "jitter");
        return change(() -> {
            delayNanos = newDelayNanos;
            jitterNanos = newJitterNanos;
        });
    }

    /** Holds all bytes, and ends of connections, back until {@link #resume()}; nothing is lost. A one-way block. */
    public Direction stall() {
        return change(() -> stalled = true);
    }

    /** Ends a stall: what was held back is delivered in order. */
    public Direction resume() {
        return change(() -> stalled = false);
    }

    /**
     * Swallows all bytes and ends of connections, those under way included: a black hole in this direction.
     *
     * <p>Since TCP never delivers a stream with a hole in it, a connection that lost bytes stays silent in this direction
     * for the rest of its life and is reset by {@link #heal()}.
     */
    public Direction drop() {
        return change(() -> dropping = true);
    }

    /** Delivers at most this many bytes a second on each connection. */
    public Direction dribble(int newBytesPerSecond) {
        if (newBytesPerSecond <= 0) {
            throw new IllegalArgumentException("bytes per second must be positive, not " + newBytesPerSecond);
        }
        return change(() -> bytesPerSecond = newBytesPerSecond);
    }

    /**
     * Lets exactly this many more bytes through, over all connections together, and then resets the connection that carried
     * the last of them. The receiver of this direction gets those bytes first.
     */
    public Direction resetAfter(long bytes) {
        if (bytes <= 0) {
            throw new IllegalArgumentException("bytes until the reset must be positive, not " + bytes);
        }
        return change(() -> bytesUntilReset = bytes);
    }

    /** Ends every fault of this direction and resets connections that lost bytes in it. */
    public Direction heal() {
        loop.run(() -> {
            healInLoop();
            loop.directionHealed(this);
        });
        return this;
    }

    /** What has happened to the bytes of this direction so far. */
    public Traffic traffic() {
        return loop.call(() -> new Traffic(passed, delayed, held, dropped, dribbled));
    }

    @Override
    public String toString() {
        return name;
    }

    void healInLoop() {
        delayNanos = 0;
        jitterNanos = 0;
        stalled = false;
        dropping = false;
        bytesPerSecond = 0;
        bytesUntilReset = -1;
    }

    boolean isStalled() {
        return stalled;
    }

    boolean isDropping() {
        return dropping;
    }

    int bytesPerSecond() {
        return bytesPerSecond;
    }

    /** How long a chunk read now has to wait; counts it if it has to. */
    long delayNanosFor(int bytes) {
        if (delayNanos == 0 && jitterNanos == 0) {
            return 0;
        }
        delayed += bytes;
        return delayNanos + (jitterNanos == 0 ? 0 : loop.random().nextLong(jitterNanos));
    }

    /** How many of so many bytes may be written before a reset that was asked for. */
    int untilReset(int wanted) {
        return bytesUntilReset < 0 ? wanted : (int) Math.min(wanted, bytesUntilReset);
    }

    /** Counts bytes written to the receiver; true if the reset that was asked for is due now. */
    boolean countPassed(int bytes) {
        passed += bytes;
        if (bytesPerSecond > 0) {
            dribbled += bytes;
        }
        if (bytesUntilReset < 0) {
            return false;
        }
        bytesUntilReset -= bytes;
        if (bytesUntilReset > 0) {
            return false;
        }
        bytesUntilReset = -1;
        return true;
    }

    void countDropped(long bytes) {
        dropped += bytes;
    }

    void countStalled(long bytes) {
        held += bytes;
    }

    private Direction change(Runnable change) {
        loop.run(() -> {
            change.run();
            loop.directionChanged();
        });
        return this;
    }

    private static long notNegative(Duration duration, String what) {
        if (duration.isNegative()) {
            throw new IllegalArgumentException(what + " must not be negative, but was " + duration);
        }
        return duration.toNanos();
    }
}
