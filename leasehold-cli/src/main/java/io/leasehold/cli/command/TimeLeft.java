package io.leasehold.cli.command;

import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.LossCause;
import io.leasehold.cli.process.RemainingTime;
import io.leasehold.cli.process.UptimeClock;
import io.leasehold.spi.method.LeaseScope;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The remaining time of a command: the validity of its lease. After a forced release, for which an operator has raised
 * the fence, it is the grace, but never more than the remaining time of the lease: the command may end in an orderly
 * way. After any other loss it is zero. Any thread may use it.
 *
 * <p>A lease without validity that has not ended is in doubt: the machine was suspended, or its wall clock was set
 * forward, and a renewal decides. Meanwhile the time runs to the end that was known before, by the up-time clock: a step
 * of the wall clock ends no command, and a suspension beyond the end does at once. A pause of a virtual machine may show
 * in its wall clock alone. So that clock counts as well once the store has had the time for an answer, or a
 * renewal that was awaited has failed.
 */
final class TimeLeft implements RemainingTime {

    /** The up-time clock may be this much early. */
    private static final long ROUNDING_NANOS = 10_000_000L;

    private static final long MIN_ANSWER_NANOS = 50_000_000L;
    private static final long MAX_ANSWER_NANOS = 3_000_000_000L;

    private final LongSupplier validityNanos;
    private final State state;
    private final long graceNanos;
    private final long answerNanos;
    private final Clocks clocks;
    /**
     * The end of the validity as far as it is known, by each clock: a renewal that was not noticed yet only moves it to a
     * later time.
     */
    private Times end;

    private boolean doubted;
    private long doubtedAtNanos;
    private boolean forced;

    /** The state of a lease. */
    interface State {
        /** The cause of its loss; null if it was not lost. */
        @Nullable
        LossCause cause();

        /** Whether it was lost or released. */
        boolean isOver();

        /** Waits for the answer to a renewal, within the store's time limit. */
        void awaitRenewal();
    }

    /**
     * A moment, or an end, by each clock.
     *
     * @param nanoTime the monotonic clock, which measures leases, and may stand still while the machine is suspended
     * @param uptimeNanos the up-time clock, which counts a suspension; {@link UptimeClock#UNKNOWN} if there is none
     * @param wallNanos the wall clock
     */
    record Times(long nanoTime, long uptimeNanos, long wallNanos) {

        private Times plus(long nanos) {
            return new Times(
                    nanoTime + nanos,
                    uptimeNanos == UptimeClock.UNKNOWN ? UptimeClock.UNKNOWN : uptimeNanos + nanos,
                    wallNanos + nanos);
        }
    }

    /** Reads the clocks. */
    interface Clocks {
        Times now();
    }

    private record SystemClocks(UptimeClock uptime) implements Clocks {
        @Override
        public Times now() {
            return new Times(
                    System.nanoTime(), uptime.nanos(), TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis()));
        }
    }

    private record StateOf(Lease lease, CompletableFuture<HoldEnd> whenEnded) implements State {
        @Override
        public @Nullable LossCause cause() {
            // It knows the cause before a callback does.
            LeaseLostException lost = LeaseScope.lossOf(lease);
            return lost == null ? null : lost.lossCause();
        }

        @Override
        public boolean isOver() {
            return whenEnded.isDone();
        }

        @Override
        public void awaitRenewal() {
            try {
                lease.ensureValidFor(Duration.ofNanos(1));
            } catch (LeaseLostException | IllegalStateException notConfirmed) {
                // The next look finds the same.
            }
        }
    }

    TimeLeft(LongSupplier validityNanos, State state, Duration grace, Duration answer, Clocks clocks) {
        this.validityNanos = validityNanos;
        this.state = state;
        this.graceNanos = grace.toNanos();
        this.answerNanos = answer.toNanos();
        this.clocks = clocks;
        this.end = new Times(clocks.now().nanoTime(), UptimeClock.UNKNOWN, 0);
    }

    /** The remaining time of a command under this lease, from now on. */
    static TimeLeft of(Lease lease, Duration grace, Duration ttl) {
        TimeLeft left = new TimeLeft(
                () -> lease.remainingValidity().toNanos(),
                new StateOf(lease, lease.whenEnded().toCompletableFuture()),
                grace,
                answerOf(ttl),
                new SystemClocks(new UptimeClock()));
        // Now: a doubt that comes later has a known end.
        left.nanos();
        return left;
    }

    /** The time limit of a store for an answer. */
    private static Duration answerOf(Duration ttl) {
        return Duration.ofNanos(Math.max(MIN_ANSWER_NANOS, Math.min(MAX_ANSWER_NANOS, ttl.toNanos() / 10)));
    }

    @Override
    public synchronized long nanos() {
        // Before the validity: a pause in between makes the end earlier.
        Times now = clocks.now();
        long valid = validityNanos.getAsLong();
        if (valid > 0) {
            end = now.plus(valid);
            doubted = false;
            return valid;
        }
        LossCause cause = state.cause();
        if (cause == null && !state.isOver()) {
            return leftInDoubt(now);
        }
        doubted = false;
        return cause == LossCause.FORCE_RELEASED ? leftAfterForce(now) : 0;
    }

    private long leftAfterForce(Times now) {
        if (!forced) {
            forced = true;
            Times most = now.plus(Math.min(end.nanoTime() - now.nanoTime(), graceNanos));
            end = new Times(most.nanoTime(), earlierUptime(end.uptimeNanos(), most.uptimeNanos()), 0);
        }
        long left = end.nanoTime() - now.nanoTime();
        return end.uptimeNanos() == UptimeClock.UNKNOWN || now.uptimeNanos() == UptimeClock.UNKNOWN
                ? left
                : Math.min(left, end.uptimeNanos() - now.uptimeNanos() - ROUNDING_NANOS);
    }

    /** The earlier of two times of the up-time clock, or the one that is known. */
    private static long earlierUptime(long one, long other) {
        if (one == UptimeClock.UNKNOWN) {
            return other;
        }
        return other == UptimeClock.UNKNOWN ? one : Math.min(one, other);
    }

    private long leftInDoubt(Times now) {
        if (!doubted) {
            doubted = true;
            doubtedAtNanos = now.nanoTime();
        }
        if (now.uptimeNanos() == UptimeClock.UNKNOWN || end.uptimeNanos() == UptimeClock.UNKNOWN) {
            return 0;
        }
        long left = end.uptimeNanos() - now.uptimeNanos() - ROUNDING_NANOS;
        boolean mayBeAnswered = now.nanoTime() - doubtedAtNanos < answerNanos;
        return Math.max(0, mayBeAnswered ? left : Math.min(left, end.wallNanos() - now.wallNanos()));
    }

    /** In doubt, looks again when the wall clock begins to count. */
    @Override
    public synchronized long lookAgainNanos() {
        long leftNanos = doubted ? answerNanos - (clocks.now().nanoTime() - doubtedAtNanos) : 0;
        return leftNanos > 0 ? leftNanos : Long.MAX_VALUE;
    }

    /** Why the lease was lost; null if it was not. */
    @Nullable
    LossCause cause() {
        return state.cause();
    }

    private synchronized boolean isDoubted() {
        return nanos() <= 0 || doubted;
    }

    /** The time for an answer is over: a renewal may have failed at once. A later one that is confirmed ends the doubt. */
    private synchronized void endTimeForAnswer() {
        if (doubted) {
            doubtedAtNanos = clocks.now().nanoTime() - answerNanos;
        }
    }

    /** Whether the lease has not ended. If that is in doubt, waits for a renewal, within the store's time limit. */
    boolean isHeld() {
        if (isDoubted()) {
            state.awaitRenewal();
            endTimeForAnswer();
        }
        return nanos() > 0 && state.cause() == null && !state.isOver();
    }
}
