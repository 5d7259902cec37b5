package io.leasehold.redis.wire;

import io.leasehold.LockName;
import java.util.regex.Pattern;

/**
 * A glob over lock names: {@code *} is any text, {@code ?} one character, everything else itself.
 *
 * <p>Redis' own patterns know more special characters, count bytes and see escaped names; {@link #keyPattern()} only
 * narrows what {@code SCAN} sends, {@link #matches} decides.
 */
public final class NameGlob {

    private final String keyPattern;
    private final Pattern names;

    /** Reads a glob over the names of locks that are laid out so. */
    public NameGlob(String glob, KeyLayout layout) {
        StringBuilder keys = new StringBuilder();
        StringBuilder regex = new StringBuilder();
        int[] characters = glob.codePoints().toArray();
        for (int i = 0; i < characters.length; i++) {
            int c = characters[i];
            boolean escapedInKeys = i == 0 && layout.isEscaping() && (c == '}' || c == '%');
            if (c == '*' || c == '?') {
                keys.append('*');
                regex.append(c == '*' ? ".*" : ".");
            } else {
                if (escapedInKeys) {
                    keys.append('*');
                } else if ("[]\\^-".indexOf(c) >= 0) {
                    keys.append('\\').appendCodePoint(c);
                } else {
                    keys.appendCodePoint(c);
                }
                regex.append(Pattern.quote(Character.toString(c)));
            }
        }
        this.keyPattern = layout.keyPattern(keys.toString());
        this.names = Pattern.compile(regex.toString(), Pattern.DOTALL);
    }

    /** For {@code SCAN MATCH}: every matching lock's key, and possibly more. */
    public String keyPattern() {
        return keyPattern;
    }

    /** Whether the name matches. */
    public boolean matches(LockName name) {
        return names.matcher(name.text()).matches();
    }
}
