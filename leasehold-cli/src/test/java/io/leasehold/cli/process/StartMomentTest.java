package io.leasehold.cli.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests of signals before, during and after the start of a command. */
@Tag("quick")
class StartMomentTest {

    private static final long FROM = Long.MAX_VALUE - millis(50);

    private static long millis(long millis) {
        return TimeUnit.MILLISECONDS.toNanos(millis);
    }

    /**
     * The start takes from 1000 to 1020 by the up-time clock; the process begins at 1010, after a tenth of a second. A signal is
     * noted up to 50 ms after it came.
     */
    @ParameterizedTest
    @CsvSource({
        "-1, 1010, true",
        "0, 1010, true",
        "49, 1010, true",
        "50, 1010, true",
        "159, 1010, true",
        "160, 1010, false",
        "249, 1010, false",
        "251, 1010, false",
        "249, 1020, true",
        // By another clock, or unknown.
        "249, 0, true",
        "249, 999, true",
        "249, 1021, true",
        "251, 0, false"
    })
    void aSignalReachesTheCommandOnlyIfItExists(long afterMillis, long uptime, boolean mayFollow) {
        StartMoment start = new StartMoment(FROM, FROM + millis(200), 1_000, 1_020, uptime);
        assertThat(start.mayFollow(FROM + millis(afterMillis))).isEqualTo(mayFollow);
    }

    @ParameterizedTest
    @CsvSource({"0, true", "249, true", "251, false"})
    void withoutAnUptimeClockASignalDuringTheStartMayHaveComeBefore(long afterMillis, boolean mayFollow) {
        StartMoment start = new StartMoment(FROM, FROM + millis(200), 0, 0, 0);
        assertThat(start.mayFollow(FROM + millis(afterMillis))).isEqualTo(mayFollow);
    }
}
