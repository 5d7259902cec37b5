package io.leasehold.cli.command;

import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.LossCause;
import io.leasehold.spi.method.LeaseScope;
import java.time.Duration;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The remaining time of a command: the validity of its lease. After a forced release, for which an operator has raised
 * the fence, it is the grace, but never more than the remaining time of the lease: the command may end in an orderly
 * way. After any other loss it is zero. Any thread may use it.
 */
final class TimeLeft implements LongSupplier {

    private final LongSupplier validityNanos;
    private final Loss loss;
    private final long graceNanos;
    private final LongSupplier clock;
    /**
     * The end of the validity as far as it is known: a renewal that was not noticed yet only moves it to a later time.
     */
    private long endsAtNanos;

    private boolean forced;

    /** Returns why a lease was lost. */
    interface Loss {
        /** The cause; null if the lease was not lost. */
        @Nullable
        LossCause cause();
    }

    TimeLeft(LongSupplier validityNanos, Loss loss, Duration grace, LongSupplier clock) {
        this.validityNanos = validityNanos;
        this.loss = loss;
        this.graceNanos = grace.toNanos();
        this.clock = clock;
        this.endsAtNanos = clock.getAsLong();
    }

    /** The remaining time of a command under this lease. */
    static TimeLeft of(Lease lease, Duration grace) {
        return new TimeLeft(() -> lease.remainingValidity().toNanos(), () -> cause(lease), grace, System::nanoTime);
    }

    private static @Nullable LossCause cause(Lease lease) {
        // It knows the cause before a callback does.
        LeaseLostException lost = LeaseScope.lossOf(lease);
        return lost == null ? null : lost.lossCause();
    }

    @Override
    public synchronized long getAsLong() {
        // Before the validity: a pause in between makes the end earlier.
        long now = clock.getAsLong();
        long valid = validityNanos.getAsLong();
        if (valid > 0) {
            endsAtNanos = now + valid;
            return valid;
        }
        if (loss.cause() != LossCause.FORCE_RELEASED) {
            return valid;
        }
        if (!forced) {
            forced = true;
            endsAtNanos = now + Math.min(endsAtNanos - now, graceNanos);
        }
        return endsAtNanos - now;
    }
}
