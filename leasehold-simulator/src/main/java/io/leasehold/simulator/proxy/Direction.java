package io.leasehold.simulator.proxy;

import java.time.Duration;

/**
 * One direction of all present and future connections of a {@link TcpProxy}, and its faults.
 *
 * <p>Faults add up until {@link #heal()}: bytes can be both delayed and limited in rate. Each method returns this
 * direction once the fault is in force. Safe for use by any thread.
 */
public final class Direction {
    private final ProxyLoop loop;
    private final String name;
    private final DirectionFaults faults;

    Direction(ProxyLoop loop, String name, DirectionFaults faults) {
        this.loop = loop;
        this.name = name;
        this.faults = faults;
    }

    /** Makes every byte wait this long. Bytes already in flight keep their time. */
    public Direction delay(Duration delay) {
        return delay(delay, Duration.ZERO);
    }

    /**
     * Makes every chunk wait {@code delay} plus a random part of {@code jitter}. The order stays within a connection,
     * as in TCP, but not across connections.
     */
    public Direction delay(Duration delay, Duration jitter) {
        long newDelayNanos = notNegative(delay, "delay");
        long newJitterNanos = notNegative(jitter, "jitter");
        return change(() -> faults.delay(newDelayNanos, newJitterNanos));
    }

    /** Holds back all bytes, and ends of connections, until {@link #resume()}; nothing is lost. A one-way block. */
    public Direction stall() {
        return change(() -> faults.stall(true));
    }

    /** Ends a stall: delivers the held-back bytes in order. */
    public Direction resume() {
        return change(() -> faults.stall(false));
    }

    /**
     * Swallows all bytes and ends of connections, including those in flight: a black hole in this direction.
     *
     * <p>Since TCP never delivers a stream with a hole, a connection that lost bytes stays silent in this direction for
     * the rest of its life; {@link #heal()} resets it.
     */
    public Direction drop() {
        return change(faults::drop);
    }

    /** Delivers at most this many bytes per second on each connection. */
    public Direction dribble(int newBytesPerSecond) {
        if (newBytesPerSecond <= 0) {
            throw new IllegalArgumentException("bytes per second must be positive, not " + newBytesPerSecond);
        }
        return change(() -> faults.dribble(newBytesPerSecond));
    }

    /**
     * Lets exactly this many more bytes through, over all connections together, and then resets the connection that
     * carried the last of them. The receiver gets those bytes first.
     */
    public Direction resetAfter(long bytes) {
        if (bytes <= 0) {
            throw new IllegalArgumentException("bytes until the reset must be positive, not " + bytes);
        }
        return change(() -> faults.resetAfter(bytes));
    }

    /** Ends every fault of this direction, and resets connections that lost bytes in it. */
    public Direction heal() {
        loop.run(() -> {
            faults.heal();
            loop.directionHealed(faults);
        });
        return this;
    }

    /** The counts of the bytes in this direction so far. */
    public Traffic traffic() {
        return loop.call(faults::traffic);
    }

    @Override
    public String toString() {
        return name;
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
