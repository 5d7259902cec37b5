package io.leasehold.cli;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads durations such as {@code 30s}, {@code 1.5s}, {@code 500ms}, {@code 2m}, {@code 1h} and {@code 1h30m}. */
public final class DurationConverter implements ITypeConverter<Duration> {

    private static final Pattern PART = Pattern.compile("([0-9]+(?:\\.[0-9]+)?)(ms|s|m|h|d)");
    private static final int LONGEST_TEXT = 32;
    private static final Duration LONGEST = Duration.ofDays(36_500);

    @Override
    public Duration convert(String value) {
        try {
            return read(value);
        } catch (IllegalArgumentException e) {
            throw new TypeConversionException(e.getMessage());
        }
    }

    /**
     * Reads a duration.
     *
     * @throws IllegalArgumentException if it is none, with the rule
     */
    public static Duration read(String value) {
        if (value.isEmpty() || value.length() > LONGEST_TEXT) {
            throw refused(value, "write for example 30s, 1.5s, 500ms, 2m or 1h");
        }
        if (value.matches("[0-9]+(\\.[0-9]+)?")) {
            throw refused(value, "the unit is missing: write " + value + "s for seconds");
        }
        BigDecimal nanos = BigDecimal.ZERO;
        Matcher part = PART.matcher(value);
        int from = 0;
        while (part.find() && part.start() == from) {
            nanos = nanos.add(new BigDecimal(part.group(1)).multiply(BigDecimal.valueOf(nanosPer(part.group(2)))));
            from = part.end();
        }
        if (from != value.length()) {
            throw refused(value, "write for example 30s, 1.5s, 500ms, 2m or 1h");
        }
        if (nanos.compareTo(BigDecimal.valueOf(LONGEST.toSeconds()).movePointRight(9)) > 0) {
            throw refused(value, "the longest duration is " + LONGEST.toDays() + "d");
        }
        long whole = nanos.longValue();
        return Duration.ofSeconds(whole / 1_000_000_000L, whole % 1_000_000_000L);
    }

    private static long nanosPer(String unit) {
        return switch (unit) {
            case "ms" -> 1_000_000L;
            case "s" -> 1_000_000_000L;
            case "m" -> 60_000_000_000L;
            case "h" -> 3_600_000_000_000L;
            default -> 86_400_000_000_000L;
        };
    }

    private static IllegalArgumentException refused(String value, String rule) {
        return new IllegalArgumentException("\"" + value + "\" is not a duration: " + rule);
    }
}
