package io.leasehold.spi;

import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.regex.Pattern;

/**
 * The URI that names a store. It may contain a password, so {@link #toString()} and {@link #redacted()} hide every
 * possible password; only {@link #text()} is complete.
 */
public final class StoreUri {

    private static final Pattern SCHEME = Pattern.compile("[a-zA-Z][a-zA-Z0-9+.-]*");
    /**
     * Matches up to the last '@', since passwords with '/', '?', '#' or '@' are often not encoded: hides too much
     * rather than too little.
     */
    private static final Pattern USER_INFO = Pattern.compile("(?s)//.*@");

    /** Matches the same without slashes, or without scheme and slashes: {@code user:password@host}. */
    private static final Pattern BARE_USER_INFO = Pattern.compile("(?s)^([^/@:]*:)?+(?!/).*@");

    /** The parts of parameter names that mark a secret value. */
    private static final String SECRET =
            "[^=?&;,(:/]*(?:password|passwd|passphrase|pass|pwd|secret|token|key|credential)[^=?&;,(]*=";

    /** After '?' or '&' a value ends at the next '&': a ';' belongs to it. */
    private static final Pattern AFTER_AMPERSAND = Pattern.compile("(?is)([?&]" + SECRET + ")[^&]*");

    /** After ';' a value ends at the next ';', unless that is escaped or in braces, the syntax of H2 and SQL Server. */
    private static final Pattern AFTER_SEMICOLON =
            Pattern.compile("(?is)(;" + SECRET + ")(?:\\{(?:[^}]|\\}\\})*+(?:\\}|$)|(?:\\\\.|[^;\\\\]|\\\\$)*+)");

    /** Elsewhere, as in {@code (host=h,password=…)}, the end of the value cannot be determined. */
    private static final Pattern ELSEWHERE = Pattern.compile("(?is)([,(:]" + SECRET + ").*");

    private static final Pattern NESTED = Pattern.compile("(?i)(node=)[^&]*");

    private final String text;
    private final String scheme;

    private StoreUri(String text, String scheme) {
        this.text = text;
        this.scheme = scheme;
    }

    /**
     * Parses a URI.
     *
     * @throws IllegalArgumentException if it has no scheme
     */
    public static StoreUri parse(String text) {
        Objects.requireNonNull(text, "store URI");
        if (text.isBlank()) {
            throw new IllegalArgumentException(
                    "the store URI is empty; write for example memory:, sqlite:, sqlite:PATH or redis://host:6379");
        }
        int colon = text.indexOf(':');
        if (colon <= 0 || !SCHEME.matcher(text.substring(0, colon)).matches()) {
            throw new IllegalArgumentException("store URI \"" + redact(text)
                    + "\" has no scheme; write for example memory:, sqlite:, sqlite:PATH or redis://host:6379");
        }
        return new StoreUri(text, text.substring(0, colon).toLowerCase(Locale.ROOT));
    }

    private static String redact(String text) {
        int options = 0;
        while (options < text.length() && "?;".indexOf(text.charAt(options)) < 0) {
            options++;
        }
        String place = USER_INFO.matcher(text.substring(0, options)).replaceAll("//***@");
        String query = NESTED.matcher(text.substring(options)).replaceAll("$1***");
        String safe = place + query;
        for (Pattern secrets : List.of(AFTER_AMPERSAND, AFTER_SEMICOLON, ELSEWHERE)) {
            safe = secrets.matcher(safe).replaceAll("$1***");
        }
        // A remaining '@' may end a password that contains a '?' or ';'.
        safe = USER_INFO.matcher(safe).replaceAll("//***@");
        return BARE_USER_INFO.matcher(safe).replaceAll("$1***@");
    }

    /** The scheme in lower case. */
    public String scheme() {
        return scheme;
    }

    /** The text after the scheme and its colon. */
    public String rest() {
        return text.substring(text.indexOf(':') + 1);
    }

    /** The complete text, including secrets: never for display. */
    public String text() {
        return text;
    }

    /** The text without user info and without the values of parameters that may be secret. */
    public String redacted() {
        return redact(text);
    }

    /** As {@link #redacted()}. */
    @Override
    public String toString() {
        return redacted();
    }
}
