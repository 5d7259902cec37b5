package io.leasehold.redis.wire;

import io.leasehold.LockName;
import io.leasehold.spi.toolkit.Glob;

/**
 * A {@link Glob} over lock names, and the pattern of Redis that finds at least their keys.
 *
 * <p>Redis' own patterns know more special characters, count bytes and see escaped names; {@link #keyPattern()} only
 * narrows what {@code SCAN} sends, {@link #matches} decides.
 */
public final class NameGlob {

    private final String keyPattern;
    private final Glob names;

    /** Reads a glob over the names of locks that are laid out so. */
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

    /** For {@code SCAN MATCH}: every matching lock's key, and possibly more. */
    public String keyPattern() {
        return keyPattern;
    }

    /** Whether the name matches. */
    public boolean matches(LockName name) {
        return names.matches(name);
    }
}
