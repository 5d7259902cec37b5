package org.sqlite.date;

import java.text.ParseException;
import java.text.SimpleDateFormat;
import java.util.Date;
import java.util.Locale;
import java.util.TimeZone;
import org.jspecify.annotations.Nullable;

/**
 * Takes the place of the class of SQLite's driver with this name. The driver makes a format for each connection, and its own class
 * then reads the calendar data of every locale, which takes a sixth of a short {@code run}. This one reads them when a date is formatted: a
 * table of locks has none. Immutable.
 */
@SuppressWarnings("JavaUtilDate") // The driver's types.
public final class FastDateFormat {

    private final String pattern;
    private final @Nullable TimeZone zone;

    private FastDateFormat(String pattern, @Nullable TimeZone zone) {
        this.pattern = pattern;
        this.zone = zone;
    }

    /** A format in the default time zone. */
    public static FastDateFormat getInstance(String pattern) {
        return new FastDateFormat(pattern, null);
    }

    /** A format in this time zone. */
    public static FastDateFormat getInstance(String pattern, TimeZone zone) {
        return new FastDateFormat(pattern, zone);
    }

    /** The text of this date. */
    public String format(Date date) {
        return format().format(date);
    }

    /** The date of this text. */
    public Date parse(String text) throws ParseException {
        return format().parse(text);
    }

    private SimpleDateFormat format() {
        // The driver's own class has the default locale, too.
        SimpleDateFormat format = new SimpleDateFormat(pattern, Locale.getDefault(Locale.Category.FORMAT));
        if (zone != null) {
            format.setTimeZone(zone);
        }
        return format;
    }
}
