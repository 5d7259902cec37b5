package io.leasehold.cli.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests with clocks that the test controls. */
@Tag("quick")
class WatchfulPauseTest {

    private long now = Long.MAX_VALUE - millis(300);
    private long uptime = 100_000;
    private final List<Long> parked = new ArrayList<>();
    private Runnable whileParked = () -> {};
    private boolean over;
    private final WatchfulPause pause = new WatchfulPause(() -> now, () -> uptime, this::park);

    private static long millis(long millis) {
        return TimeUnit.MILLISECONDS.toNanos(millis);
    }

    private void park(long nanos) {
        parked.add(nanos);
        now += nanos;
        uptime += nanos / millis(10);
        whileParked.run();
    }

    @Test
    void lastsAsLongAsItShould() {
        pause.take(millis(600), () -> over);
        assertThat(parked).containsExactly(millis(250), millis(250), millis(100));
    }

    /** The monotonic clock stands still meanwhile. */
    @Test
    void endsAfterASuspension() {
        whileParked = () -> uptime += 6;
        pause.take(millis(5_000), () -> over);
        assertThat(parked).containsExactly(millis(250));
    }

    @Test
    void aSuspensionInALaterSliceEndsItToo() {
        whileParked = () -> uptime += parked.size() == 3 ? 1_300 : 0;
        pause.take(millis(5_000), () -> over);
        assertThat(parked).hasSize(3);
    }

    /** The up-time clock is coarse. */
    @Test
    void roundingIsNoSuspension() {
        whileParked = () -> uptime += parked.size() == 1 ? 5 : 0;
        pause.take(millis(600), () -> over);
        assertThat(parked).hasSize(3);
    }

    @Test
    void endsWhenACheckIsWanted() {
        whileParked = () -> over = parked.size() == 2;
        pause.take(millis(5_000), () -> over);
        assertThat(parked).hasSize(2);
        pause.take(millis(5_000), () -> over);
        assertThat(parked).as("it was wanted before").hasSize(2);
    }

    @Test
    void lastsAsLongAsItShouldWithoutAnUptimeClock() {
        uptime = UptimeClock.UNKNOWN;
        pause.take(millis(600), () -> over);
        assertThat(parked).hasSize(3);
    }

    /** As without a file descriptor to read that clock. */
    @Test
    void aClockThatCannotBeReadForAWhileEndsNothing() {
        whileParked = () -> uptime = UptimeClock.UNKNOWN;
        pause.take(millis(600), () -> over);
        assertThat(parked).hasSize(3);
    }
}
