package io.leasehold.spi;

import java.nio.ByteBuffer;
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

    // Numbers, not digits: a client keeps a token for each lease that it holds, and needs the digits for a request
    // only.
    private final long first;
    private final long middle;
    private final int last;

    private OwnerToken(byte[] bytes) {
        ByteBuffer from = ByteBuffer.wrap(bytes);
        this.first = from.getLong();
        this.middle = from.getLong();
        this.last = from.getInt();
    }

    /** Draws a new token. */
    public static OwnerToken draw(LockRuntime runtime) {
        byte[] bytes = new byte[BYTES];
        runtime.randomBytes(bytes);
        return new OwnerToken(bytes);
    }

    /**
     * Parses a token from its 40 hexadecimal digits.
     *
     * @throws IllegalArgumentException if the text has another form; the message does not repeat the text
     */
    public static OwnerToken fromHex(String hex) {
        if (hex.length() != 2 * BYTES || !hex.chars().allMatch(HexFormat::isHexDigit)) {
            throw new IllegalArgumentException(
                    "an owner token is 40 hexadecimal digits; got " + hex.length() + " characters");
        }
        return new OwnerToken(HexFormat.of().parseHex(hex));
    }

    /** The token as 40 lower-case hexadecimal digits: for the wire only, never for display. */
    public String hex() {
        byte[] bytes = ByteBuffer.allocate(BYTES)
                .putLong(first)
                .putLong(middle)
                .putInt(last)
                .array();
        return HexFormat.of().formatHex(bytes);
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
            byte[] digest = MessageDigest.getInstance(algorithm).digest(hex().getBytes(StandardCharsets.US_ASCII));
            return HexFormat.of().formatHex(digest, 0, bytes);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has " + algorithm, e);
        }
    }

    @Override
    public boolean equals(@Nullable Object o) {
        return o instanceof OwnerToken other && first == other.first && middle == other.middle && last == other.last;
    }

    @Override
    public int hashCode() {
        return last;
    }

    /** Does not reveal the token. */
    @Override
    public String toString() {
        return "OwnerToken(hidden)";
    }
}
