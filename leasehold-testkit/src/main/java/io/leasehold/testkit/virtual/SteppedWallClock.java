package io.leasehold.testkit.virtual;

import io.leasehold.spi.LockRuntime;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/** Another runtime, except for a wall clock that an administrator sets. Thread-safe. */
public final class SteppedWallClock extends PassingRuntime {

    private final AtomicLong offsetMillis = new AtomicLong();

    /**
     * Creates a runtime whose wall clock is that of another.
     *
     * @param world the other runtime, which is closed with this one
     */
    public SteppedWallClock(LockRuntime world) {
        super(world);
    }

    /** Sets the wall clock forward, or back if negative. */
    public void step(Duration by) {
        offsetMillis.addAndGet(by.toMillis());
    }

    @Override
    public long wallMillis() {
        return super.wallMillis() + offsetMillis.get();
    }
}
