package io.leasehold;

import java.math.BigDecimal;
import java.time.Duration;

/** Durations as messages show them and as the command line takes them. */
public final class Durations {

    private static final int MILLIS_DIGITS = 6;

    private Durations() {}

    /** The exact duration with its units: {@code 50ms}, {@code 1.5s}, {@code 30s}, {@code 1h30m}. */
    public static String text(Duration duration) {
        if (duration.isNegative()) {
            // The longest one has no opposite.
            boolean longest = duration.toSeconds() == Long.MIN_VALUE;
            return longest ? duration.toString() : "-" + text(duration.negated());
        }
        if (duration.isZero()) {
            return "0s";
        }
        if (duration.toSeconds() == 0) {
            return plain(BigDecimal.valueOf(duration.toNanos()).movePointLeft(MILLIS_DIGITS)) + "ms";
        }
        StringBuilder text = new StringBuilder();
        if (duration.toHours() > 0) {
            text.append(duration.toHours()).append('h');
        }
        if (duration.toMinutesPart() > 0) {
            text.append(duration.toMinutesPart()).append('m');
        }
        BigDecimal seconds =
                BigDecimal.valueOf(duration.toSecondsPart()).add(BigDecimal.valueOf(duration.toNanosPart(), 9));
        if (seconds.signum() > 0) {
            text.append(plain(seconds)).append('s');
        }
        return text.toString();
    }

    private static String plain(BigDecimal number) {
        return number.stripTrailingZeros().toPlainString();
    }
}
