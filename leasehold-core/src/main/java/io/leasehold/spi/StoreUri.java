package io.leasehold.spi;

import java.util.Locale;
import java.util.Objects;
import java.util.regex.Pattern;

/**
 * The URI that names a store. It may contain a password, so {@link #toString()} and {@link #redacted()} hide
 * what could be one; only {@link #text()} is whole.
 */
public final class StoreUri {

    private static final Pattern SCHEME = Pattern.compile("[a-zA-Z][a-zA-Z0-9+.-]*");
    /** Up to the last '@', since passwords with '/', '?', '#' or '@' are often not encoded: better too much than a part. */
    private static final Pattern USER_INFO = Pattern.compile("(?s)//.*@");

    /** The same where the slashes, or scheme and slashes, were forgotten: {@code user:password@host}. */
    private static final Pattern BARE_USER_INFO = Pattern.compile("(?s)^([^/@:]*:)?+(?!/).*@");

    private static final Pattern SECRET_PARAMETER =
            Pattern.compile("(?i)((?:password|passwd|pass|pwd|secret|token|key)[a-z_-]*=)[^&;]*");
    private static final Pattern NESTED = Pattern.compile("(?i)(node=)[^&]*");

    private final String text;
    private final String scheme;

    private StoreUri(String text, String scheme) {
        this.text = text;
        this.scheme = scheme;
    }

    /**
     * Reads a URI.
     *
     * @throws IllegalArgumentException if it has no scheme
     */
    public static StoreUri parse(String text) {
        Objects.requireNonNull(text, "store URI");
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
        String safe = SECRET_PARAMETER.matcher(place + query).replaceAll("$1***");
        // An '@' that is still there may end a password with a '?' or ';' in it.
        safe = USER_INFO.matcher(safe).replaceAll("//***@");
        return BARE_USER_INFO.matcher(safe).replaceAll("$1***@");
    }

    /** The scheme in lower case. */
    public String scheme() {
        return scheme;
    }

    /** What follows the scheme and its colon. */
    public String rest() {
        return text.substring(text.indexOf(':') + 1);
    }

    /** The whole text, secrets included: never for people. */
    public String text() {
        return text;
    }

    /** The text with user info and secret-looking parameters hidden. */
    public String redacted() {
        return redact(text);
    }

    /** As {@link #redacted()}. */
    @Override
    public String toString() {
        return redacted();
    }
}
