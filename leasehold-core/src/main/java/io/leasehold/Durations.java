package io.leasehold;

import java.time.Duration;

/** Formats durations for messages, in the form that the command line accepts. */
public final class Durations {

    private static final int NANOS_PER_MILLI = 1_000_000;
    private static final long NANOS_PER_SECOND = 1_000_000_000L;

    private Durations() {}

    /** The exact duration with its units: {@code 50ms}, {@code 1.5s}, {@code 30s}, {@code 1h30m}. */
    public static String text(Duration duration) {
        if (duration.isNegative()) {
            // The smallest duration cannot be negated.
            boolean longest = duration.toSeconds() == Long.MIN_VALUE;
            return longest ? duration.toString() : "-" + text(duration.negated());
        }
        if (duration.isZero()) {
            return "0s";
        }
        int nanos = duration.toNanosPart();
        if (duration.toSeconds() == 0) {
            return decimal(nanos / NANOS_PER_MILLI, nanos % NANOS_PER_MILLI, NANOS_PER_MILLI) + "ms";
        }
        StringBuilder text = new StringBuilder();
        if (duration.toHours() > 0) {
            text.append(duration.toHours()).append('h');
        }
        if (duration.toMinutesPart() > 0) {
            text.append(duration.toMinutesPart()).append('m');
        }
        if (duration.toSecondsPart() > 0 || nanos > 0) {
            text.append(decimal(duration.toSecondsPart(), nanos, NANOS_PER_SECOND))
                    .append('s');
        }
        return text.toString();
    }

    /** The number {@code whole + part / unit}, without zeros at its end. */
    private static String decimal(int whole, int part, long unit) {
        if (part == 0) {
            return Integer.toString(whole);
        }
        // The digit in front keeps the zeros at the begin of the part.
        String digits = Long.toString(unit + part).substring(1);
        int end = digits.length();
        while (digits.charAt(end - 1) == '0') {
            end--;
        }
        return whole + "." + digits.substring(0, end);
    }

    /**
     * A part of a duration that is not negative. {@link Duration#dividedBy} makes big decimals, whose first use costs a
     * start of the command line as much as its request to the store.
     */
    static Duration part(Duration whole, int divisor) {
        long seconds = whole.getSeconds();
        long rest = seconds % divisor * NANOS_PER_SECOND + whole.getNano();
        return Duration.ofSeconds(seconds / divisor, rest / divisor);
    }
}
