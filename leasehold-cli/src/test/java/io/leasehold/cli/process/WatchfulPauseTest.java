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

    private void take(long nanos) {
        pause.take(nanos, () -> over);
    }

    @Test
    void lastsAsLongAsItShould() {
        take(millis(600));
        assertThat(parked).containsExactly(millis(250), millis(250), millis(100));
    }

    /** The monotonic clock stands still meanwhile. */
    @Test
    void endsAfterASuspension() {
        whileParked = () -> uptime += 6;
        take(millis(5_000));
        assertThat(parked).containsExactly(millis(250));
        whileParked = () -> {};
        take(millis(100));
        assertThat(parked).as("the next one lasts").containsExactly(millis(250), millis(100));
    }

    @Test
    void aSuspensionInALaterSliceEndsItToo() {
        whileParked = () -> uptime += parked.size() == 3 ? 1_300 : 0;
        take(millis(5_000));
        assertThat(parked).hasSize(3);
    }

    /** Its time left is that of the moment before. */
    @Test
    void aSuspensionDuringTheDecisionLeavesNoPause() {
        uptime += 1_300;
        take(millis(5_000));
        assertThat(parked).isEmpty();
    }

    /** A pause is never empty because its decision took long: the next one would follow at once, again and again. */
    @Test
    void aLongDecisionTakesNothingFromThePause() {
        now += millis(20);
        uptime += 2;
        take(millis(1));
        assertThat(parked).containsExactly(millis(1));
    }

    /** The up-time clock is coarse. */
    @Test
    void roundingIsNoSuspension() {
        whileParked = () -> uptime += parked.size() == 1 ? 5 : 0;
        take(millis(600));
        assertThat(parked).hasSize(3);
    }

    @Test
    void endsWhenACheckIsWanted() {
        whileParked = () -> over = parked.size() == 2;
        take(millis(5_000));
        assertThat(parked).hasSize(2);
        take(millis(5_000));
        assertThat(parked).as("it was wanted before").hasSize(2);
    }

    @Test
    void lastsAsLongAsItShouldWithoutAnUptimeClock() {
        uptime = UptimeClock.UNKNOWN;
        take(millis(600));
        assertThat(parked).hasSize(3);
    }

    /** As without a file descriptor to read that clock. */
    @Test
    void aClockThatCannotBeReadForAWhileEndsNothing() {
        whileParked = () -> uptime = UptimeClock.UNKNOWN;
        take(millis(600));
        assertThat(parked).hasSize(3);
    }
}
