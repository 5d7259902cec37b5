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

    /** The start takes from 1000 to 1020 by the up-time clock; the process begins at 1010, after a tenth of a second. */
    @ParameterizedTest
    @CsvSource({
        "-1, 1010, true",
        "0, 1010, true",
        "99, 1010, true",
        "109, 1010, true",
        "110, 1010, false",
        "199, 1010, false",
        "201, 1010, false",
        "199, 1020, true",
        // By another clock, or unknown.
        "199, 0, true",
        "199, 999, true",
        "199, 1021, true",
        "201, 0, false"
    })
    void aSignalReachesTheCommandOnlyIfItExists(long afterMillis, long uptime, boolean mayFollow) {
        StartMoment start = new StartMoment(FROM, FROM + millis(200), 1_000, 1_020, uptime);
        assertThat(start.mayFollow(FROM + millis(afterMillis))).isEqualTo(mayFollow);
    }

    @ParameterizedTest
    @CsvSource({"0, true", "199, true", "201, false"})
    void withoutAnUptimeClockASignalDuringTheStartMayHaveComeBefore(long afterMillis, boolean mayFollow) {
        StartMoment start = new StartMoment(FROM, FROM + millis(200), 0, 0, 0);
        assertThat(start.mayFollow(FROM + millis(afterMillis))).isEqualTo(mayFollow);
    }
}
