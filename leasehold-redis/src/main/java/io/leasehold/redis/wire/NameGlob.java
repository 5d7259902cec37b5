package io.leasehold.redis.wire;

import io.leasehold.LockName;
import io.leasehold.spi.toolkit.Glob;

/**
 * A {@link Glob} over lock names, and a Redis pattern that finds at least their keys.
 *
 * <p>Redis patterns have more special characters, count bytes and see escaped names. Therefore {@link #keyPattern()}
 * only narrows the result of {@code SCAN}, and {@link #matches} decides.
 */
public final class NameGlob {

    private final String keyPattern;
    private final Glob names;

    /** Reads a glob over the names of locks with this key layout. */
    public NameGlob(String glob, KeyLayout layout) {
        StringBuilder keys = new StringBuilder();
        int[] characters = glob.codePoints().toArray();
        for (int i = 0; i < characters.length; i++) {
            int c = characters[i];
            boolean escapedInKeys = i == 0 && layout.isEscaping() && (c == '}' || c == '%');
            if (c == '*' || c == '?') {
                keys.append('*');
            } else {
                if (escapedInKeys) {
                    keys.append('*');
                } else if ("[]\\^-".indexOf(c) >= 0) {
                    keys.append('\\').appendCodePoint(c);
                } else {
                    keys.appendCodePoint(c);
                }
            }
        }
        this.keyPattern = layout.keyPattern(keys.toString());
        this.names = Glob.of(glob);
    }

    /** The pattern for {@code SCAN MATCH}, which finds the key of every matching lock and possibly more. */
    public String keyPattern() {
        return keyPattern;
    }

    /** Whether the name matches. */
    public boolean matches(LockName name) {
        return names.matches(name);
    }
}
