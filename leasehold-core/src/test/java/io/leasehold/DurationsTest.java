package io.leasehold;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A duration is shown as one would type it, and exactly. */
@Tag("quick")
final class DurationsTest {

    @ParameterizedTest
    @CsvSource({
        "PT0S, 0s",
        "PT0.05S, 50ms",
        "PT0.0005S, 0.5ms",
        "PT0.099999999S, 99.999999ms",
        "PT1S, 1s",
        "PT1.5S, 1.5s",
        "PT19.598S, 19.598s",
        "PT30S, 30s",
        "PT1M, 1m",
        "PT1M12S, 1m12s",
        "PT1H30M, 1h30m",
        "PT1H0.001S, 1h0.001s",
        "PT24H, 24h",
        "PT100H1S, 100h1s",
        "PT-1S, -1s",
        "PT-0.001S, -1ms",
    })
    void isShownInItsUnits(Duration duration, String text) {
        assertThat(Durations.text(duration)).isEqualTo(text);
    }

    @Test
    void theLongestAreShownToo() {
        assertThat(Durations.text(Duration.ofSeconds(Long.MAX_VALUE))).startsWith("2562047788015215h30m7s");
        assertThat(Durations.text(Duration.ofSeconds(Long.MIN_VALUE))).startsWith("PT-");
    }

    @Test
    void aPartIsWhatTheJdkDividesTo() {
        Random random = new Random(18);
        for (int i = 0; i < 20_000; i++) {
            Duration whole =
                    Duration.ofSeconds(random.nextLong(1L << random.nextInt(1, 55)), random.nextInt(1_000_000_000));
            int divisor = random.nextInt(1, 1_000);
            assertThat(Durations.part(whole, divisor)).isEqualTo(whole.dividedBy(divisor));
        }
        assertThat(Durations.part(Duration.ofSeconds(Long.MAX_VALUE, 999_999_999), 200))
                .isEqualTo(Duration.ofSeconds(Long.MAX_VALUE, 999_999_999).dividedBy(200));
    }
}
