package io.leasehold.spi;

import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * Twenty random bytes, new for every attempt, that prove ownership to the store.
 *
 * <p>Whoever knows it can release the lock, so it does not print: only {@link #hex()} reveals it, for the
 * wire.
 */
public final class OwnerToken {

    /** Its length in bytes. */
    public static final int BYTES = 20;

    private final String hex;

    private OwnerToken(String hex) {
        this.hex = hex;
    }

    /** Draws a new one. */
    public static OwnerToken draw(LockRuntime runtime) {
        byte[] bytes = new byte[BYTES];
        runtime.randomBytes(bytes);
        return new OwnerToken(HexFormat.of().formatHex(bytes));
    }

    /**
     * Reads one from its 40 hexadecimal digits.
     *
     * @throws IllegalArgumentException if the text is not that; the text is not repeated in the message
     */
    public static OwnerToken fromHex(String hex) {
        if (hex.length() != 2 * BYTES || !hex.chars().allMatch(c -> Character.digit(c, 16) >= 0)) {
            throw new IllegalArgumentException(
                    "an owner token is 40 hexadecimal digits; got " + hex.length() + " characters");
        }
        return new OwnerToken(hex.toLowerCase(java.util.Locale.ROOT));
    }

    /** Forty lower-case hexadecimal digits: for the wire only, never for people. */
    public String hex() {
        return hex;
    }

    @Override
    public boolean equals(@Nullable Object o) {
        return o instanceof OwnerToken other && hex.equals(other.hex);
    }

    @Override
    public int hashCode() {
        return hex.hashCode();
    }

    /** Does not reveal the token. */
    @Override
    public String toString() {
        return "OwnerToken(hidden)";
    }
}
