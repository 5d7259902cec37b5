package io.leasehold.jdbc.store;

import io.leasehold.jdbc.lease.StoreTime;
import io.leasehold.spi.LockRuntime;
import org.jspecify.annotations.Nullable;

/**
 * The clock of this machine: nanoseconds since it was booted, the same in all its processes and untouched by steps of
 * the wall clock. If they are not available, the wall clock.
 */
public final class MachineClock implements StoreClock {

    private static final String WALL = "wall";

    private final LockRuntime runtime;
    private final @Nullable BootOrigin boot;

    /**
     * A clock of this machine.
     *
     * @param boot the zero of this machine's monotonic clock, or null if it is not known
     */
    public MachineClock(LockRuntime runtime, @Nullable BootOrigin boot) {
        this.runtime = runtime;
        this.boot = boot;
    }

    @Override
    public String kind() {
        return boot == null ? WALL : "boot";
    }

    @Override
    public StoreTime readBehindRows(LeaseTable table, long askedAtNanos) {
        return read();
    }

    @Override
    public StoreTime read(LeaseTable table) {
        return read();
    }

    /** The zero of its times. */
    public String origin() {
        return boot == null ? WALL : boot.id();
    }

    StoreTime read() {
        long readAtNanos = runtime.nanoTime();
        long wallMillis = runtime.wallMillis();
        return boot == null
                ? new StoreTime(WALL, wallMillis * 1_000_000, wallMillis * 1000, readAtNanos)
                : new StoreTime(boot.id(), readAtNanos - boot.offsetNanos(), wallMillis * 1000, readAtNanos);
    }
}
