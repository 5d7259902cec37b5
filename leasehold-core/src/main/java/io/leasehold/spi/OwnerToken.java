package io.leasehold.spi;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * Twenty random bytes, new for every attempt, that prove ownership to the store.
 *
 * <p>Every party that knows the token can release the lock, so {@link #toString()} hides it: only {@link #hex()}
 * reveals it, for the wire.
 */
public final class OwnerToken {

    /** The length of a token in bytes. */
    public static final int BYTES = 20;

    private static final int ATTEMPT_ID_BYTES = 8;
    private static final int PUBLIC_ID_BYTES = 16;

    private final String hex;

    private OwnerToken(String hex) {
        this.hex = hex;
    }

    /** Draws a new token. */
    public static OwnerToken draw(LockRuntime runtime) {
        byte[] bytes = new byte[BYTES];
        runtime.randomBytes(bytes);
        return new OwnerToken(HexFormat.of().formatHex(bytes));
    }

    /**
     * Parses a token from its 40 hexadecimal digits.
     *
     * @throws IllegalArgumentException if the text has another form; the message does not repeat the text
     */
    public static OwnerToken fromHex(String hex) {
        if (hex.length() != 2 * BYTES || !hex.chars().allMatch(c -> Character.digit(c, 16) >= 0)) {
            throw new IllegalArgumentException(
                    "an owner token is 40 hexadecimal digits; got " + hex.length() + " characters");
        }
        return new OwnerToken(hex.toLowerCase(java.util.Locale.ROOT));
    }

    /** The token as 40 lower-case hexadecimal digits: for the wire only, never for display. */
    public String hex() {
        return hex;
    }

    /** The public id of its attempt: the first 16 digits of the SHA-1 of {@link #hex()}. */
    public String attemptId() {
        return digest("SHA-1", ATTEMPT_ID_BYTES);
    }

    /**
     * The public name of its key at stores that keep a key for each owner token: the first 16 bytes of the SHA-256 of
     * {@link #hex()}, written like a UUID. Does not reveal the token.
     */
    public String publicId() {
        return digest("SHA-256", PUBLIC_ID_BYTES).replaceFirst("(.{8})(.{4})(.{4})(.{4})", "$1-$2-$3-$4-");
    }

    /** Computes the first bytes of a digest of the hexadecimal digits. */
    private String digest(String algorithm, int bytes) {
        try {
            byte[] digest = MessageDigest.getInstance(algorithm).digest(hex.getBytes(StandardCharsets.US_ASCII));
            return HexFormat.of().formatHex(digest, 0, bytes);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has " + algorithm, e);
        }
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
