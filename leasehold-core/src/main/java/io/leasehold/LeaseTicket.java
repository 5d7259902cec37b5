package io.leasehold;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Objects;
import java.util.regex.Pattern;
import java.util.zip.CRC32;
import org.jspecify.annotations.Nullable;

/**
 * A lock that travels: the right to continue an {@linkplain Lease#export exported} lease, once, in any process.
 *
 * <p><b>Secret.</b> Every party that knows the ticket can {@linkplain LockClient#resume resume} the lease, and nothing
 * else proves the right to do so. {@link #toString()} hides the secret; only {@link #text()} reveals it, for transport.
 * Pass the text through a file that only its reader may read, or through an encrypted channel; never as an argument of
 * a command, in an environment variable or in a log.
 *
 * <p>Immutable; safe for use by any thread.
 */
public final class LeaseTicket {

    private static final String PREFIX = "leasehold-ticket-1.";
    private static final Pattern SECRET = Pattern.compile("[0-9a-f]{40}");
    private static final int FIELDS = 5;
    private static final Duration LEAST_CLAIM = Duration.ofMillis(1);
    private static final Duration LARGEST_CLAIM = Duration.ofMillis(Long.MAX_VALUE);

    private final LockName lockName;
    private final String secret;
    private final Duration claim;
    private final String store;

    private LeaseTicket(LockName lockName, String secret, Duration claim, String store) {
        this.lockName = lockName;
        this.secret = secret;
        this.claim = claim;
        this.store = store;
    }

    /**
     * Creates a ticket from its parts: for the client that exports a lease.
     *
     * @param secret the ticket's owner token, 40 lower-case hexadecimal digits
     * @param claim how long the store keeps the lock for the ticket, from the export on
     * @param store the description of the store, without secrets
     * @throws IllegalArgumentException if the secret has another form, or the claim is below one millisecond or above a
     *     long of milliseconds; the message does not repeat the secret
     */
    public static LeaseTicket of(LockName lockName, String secret, Duration claim, String store) {
        Objects.requireNonNull(lockName, "lockName");
        if (!SECRET.matcher(secret).matches()) {
            throw new IllegalArgumentException("the secret of a ticket is 40 lower-case hexadecimal digits; got "
                    + secret.length() + " characters");
        }
        if (claim.compareTo(LEAST_CLAIM) < 0 || claim.compareTo(LARGEST_CLAIM) > 0) {
            throw new IllegalArgumentException("the claim of a ticket is at least 1 ms, and at most "
                    + Durations.text(LARGEST_CLAIM) + "; got " + Durations.text(claim));
        }
        return new LeaseTicket(lockName, secret, Duration.ofMillis(claim.toMillis()), store.replace('\n', ' '));
    }

    /**
     * Reads a ticket from its {@link #text()}. White space around the text is ignored.
     *
     * @throws IllegalArgumentException if the text is no ticket, is incomplete, or was changed; the message does not
     *     repeat the text
     */
    public static LeaseTicket parse(String text) {
        String trimmed = text.strip();
        if (!trimmed.startsWith(PREFIX)) {
            throw malformed("it does not begin with \"" + PREFIX + "\"", null);
        }
        String[] fields;
        try {
            byte[] payload = Base64.getUrlDecoder().decode(trimmed.substring(PREFIX.length()));
            fields = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(payload))
                    .toString()
                    .split("\n", -1);
        } catch (IllegalArgumentException | CharacterCodingException e) {
            throw malformed("it is incomplete or was changed", null);
        }
        if (fields.length != FIELDS || !fields[0].equals(check(fields[1], fields[2], fields[3], fields[4]))) {
            throw malformed("it is incomplete or was changed", null);
        }
        try {
            Duration claim = Duration.ofMillis(Long.parseLong(fields[2]));
            return of(LockName.exactly(fields[3]), fields[1], claim, fields[4]);
        } catch (IllegalArgumentException e) {
            throw malformed("a part of it has another form", e);
        }
    }

    private static IllegalArgumentException malformed(String why, @Nullable Throwable cause) {
        return new IllegalArgumentException("the text is no ticket of Leasehold: " + why, cause);
    }

    /** The checksum by which {@link #parse} finds that a copy is incomplete. It protects against nothing else. */
    private static String check(String... fields) {
        CRC32 crc = new CRC32();
        crc.update(String.join("\n", fields).getBytes(StandardCharsets.UTF_8));
        return HexFormat.of().toHexDigits(crc.getValue(), 8);
    }

    /**
     * The ticket as a text of letters, digits, {@code -}, {@code _} and {@code .}, without white space: the secret form,
     * for transport only.
     */
    public String text() {
        String millis = Long.toString(claim.toMillis());
        String payload = String.join(
                "\n", check(secret, millis, lockName.text(), store), secret, millis, lockName.text(), store);
        return PREFIX
                + Base64.getUrlEncoder().withoutPadding().encodeToString(payload.getBytes(StandardCharsets.UTF_8));
    }

    /** The lock. */
    public LockName lockName() {
        return lockName;
    }

    /** How long the store keeps the lock for the ticket, from the export on. */
    public Duration claim() {
        return claim;
    }

    /** The description of the store of the export, without secrets: for messages. */
    public String store() {
        return store;
    }

    /** The ticket's owner token as 40 lower-case hexadecimal digits: for a store only, never for display. */
    public String secret() {
        return secret;
    }

    @Override
    public boolean equals(@Nullable Object o) {
        return o instanceof LeaseTicket other
                && lockName.equals(other.lockName)
                && secret.equals(other.secret)
                && claim.equals(other.claim)
                && store.equals(other.store);
    }

    @Override
    public int hashCode() {
        return secret.hashCode();
    }

    /** Does not reveal the secret. */
    @Override
    public String toString() {
        return "LeaseTicket[" + lockName + " at " + store + ", claim " + Durations.text(claim) + ", secret hidden]";
    }
}
