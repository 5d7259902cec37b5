package io.leasehold.spi.toolkit;

import io.leasehold.LockName;
import java.util.Objects;
import java.util.regex.Pattern;

/**
 * A glob over lock names: {@code *} matches any text, {@code ?} matches one character, every other character matches
 * itself.
 */
public final class Glob {

    private final String text;
    private final Pattern names;

    private Glob(String text, Pattern names) {
        this.text = text;
        this.names = names;
    }

    /** Parses a glob; every text is valid. */
    public static Glob of(String text) {
        Objects.requireNonNull(text, "glob");
        StringBuilder regex = new StringBuilder();
        text.codePoints()
                .forEach(c -> regex.append(c == '*' ? ".*" : c == '?' ? "." : Pattern.quote(Character.toString(c))));
        return new Glob(text, Pattern.compile(regex.toString(), Pattern.DOTALL));
    }

    /** Whether the complete name matches. */
    public boolean matches(LockName name) {
        return matches(name.text());
    }

    /** Whether this text, a lock's name, matches. */
    public boolean matches(String name) {
        return names.matcher(name).matches();
    }

    /** The glob's text. */
    @Override
    public String toString() {
        return text;
    }
}
