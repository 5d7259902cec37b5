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
    private static final Pattern USER_INFO = Pattern.compile("//[^/?#]*@");
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
        String safe = USER_INFO.matcher(text).replaceAll("//***@");
        safe = NESTED.matcher(safe).replaceAll("$1***");
        return SECRET_PARAMETER.matcher(safe).replaceAll("$1***");
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
