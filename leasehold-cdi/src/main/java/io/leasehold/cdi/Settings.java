package io.leasehold.cdi;

import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.eclipse.microprofile.config.ConfigProvider;

/**
 * Reads the settings {@code leasehold.*}, and the values of <code>${…}</code>, from MicroProfile Config, if that is on
 * the class path.
 */
final class Settings {

    /** Whether MicroProfile Config is on the class path, with an implementation. */
    static final boolean PRESENT =
            isPresent("org.eclipse.microprofile.config.ConfigProvider") && OfMicroProfile.isImplemented();

    private static final Pattern PLACEHOLDER = Pattern.compile("\\$\\{([^}:]+)(?::([^}]*))?}");
    private static final Pattern UNITS =
            Pattern.compile("(?:(\\d+)d)?(?:(\\d+)h)?(?:(\\d+)m)?(?:(\\d+)s)?(?:(\\d+)ms)?");

    private Settings() {}

    static boolean isPresent(String type) {
        try {
            Class.forName(type, false, Settings.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException | LinkageError e) {
            return false;
        }
    }

    static Optional<String> text(String name) {
        return PRESENT
                ? OfMicroProfile.text(name).map(String::strip).filter(text -> !text.isEmpty())
                : Optional.empty();
    }

    /** A separate class, since it cannot be linked without MicroProfile Config. */
    private static final class OfMicroProfile {

        private OfMicroProfile() {}

        static boolean isImplemented() {
            try {
                return ConfigProvider.getConfig() != null;
            } catch (IllegalStateException e) {
                return false; // as specified
            }
        }

        static Optional<String> text(String name) {
            return ConfigProvider.getConfig().getOptionalValue(name, String.class);
        }
    }

    /**
     * Reads a setting as a duration.
     *
     * @throws LockedUsageException if it is not a duration
     */
    static Optional<Duration> duration(String name) {
        return value(name, Settings::parsed, "3s, 500ms, 1m30s or PT3S");
    }

    /**
     * Reads a setting as a constant.
     *
     * @throws LockedUsageException if it is not one of the constants
     */
    static <E extends Enum<E>> Optional<E> constant(String name, Class<E> type) {
        return value(
                name,
                text -> Enum.valueOf(type, text.toUpperCase(Locale.ROOT).replace('-', '_')),
                "one of " + Arrays.toString(type.getEnumConstants()));
    }

    private static <T> Optional<T> value(String name, Function<String, T> parser, String kinds) {
        return text(name).map(text -> {
            try {
                return parser.apply(text);
            } catch (IllegalArgumentException e) {
                throw new LockedUsageException("the setting " + name + " is \"" + text + "\"", "Write " + kinds, e);
            }
        });
    }

    /**
     * Parses a duration.
     *
     * @throws IllegalArgumentException if it is not a duration, has no unit, or is negative
     */
    static Duration parsed(String text) {
        Duration parsed = text.equals("0") ? Duration.ZERO : withUnits(text);
        if (parsed.isNegative()) {
            throw new IllegalArgumentException(text + " is negative");
        }
        return parsed;
    }

    private static Duration withUnits(String text) {
        Matcher units = UNITS.matcher(text);
        try {
            if (text.isEmpty() || !units.matches()) {
                return Duration.parse(text);
            }
            return Duration.ofDays(number(units, 1))
                    .plusHours(number(units, 2))
                    .plusMinutes(number(units, 3))
                    .plusSeconds(number(units, 4))
                    .plusMillis(number(units, 5));
        } catch (DateTimeParseException | ArithmeticException e) {
            throw new IllegalArgumentException(text + " is not a duration", e);
        }
    }

    private static long number(Matcher units, int group) {
        return units.group(group) == null ? 0 : Long.parseLong(units.group(group));
    }

    /**
     * Replaces the placeholders of a text by the settings that they name.
     *
     * @throws IllegalArgumentException if there is no such setting, and the placeholder has no default
     */
    static String resolved(String text) {
        return PLACEHOLDER.matcher(text).replaceAll(found -> {
            String name = found.group(1);
            String otherwise = found.group(2);
            String value = text(name).orElse(otherwise);
            if (value == null) {
                throw new IllegalArgumentException("there is no setting " + name);
            }
            return Matcher.quoteReplacement(value);
        });
    }
}
