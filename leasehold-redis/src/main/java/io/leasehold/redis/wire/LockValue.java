package io.leasehold.redis.wire;

import io.leasehold.Holder;
import io.leasehold.spi.OwnerToken;
import java.time.Duration;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The value of a lock key: {@code <owner token>:<fencing token>:<holder id>}.
 *
 * <p>A client that knows the owner token can release the lock, so the server never returns the token: replies carry
 * only the text after it. If a value has any other form, a foreign client wrote it. Leasehold never shows such a value,
 * since it is that client's secret.
 */
public final class LockValue {

    /** The holder id that Leasehold shows for every foreign client. */
    public static final String FOREIGN = "foreign client";

    /** The whole value while readers hold the lock; it belongs to no owner token. */
    public static final String READERS = "0".repeat(40) + "::readers";

    private static final int MAX_SHOWN = 200;

    private LockValue() {}

    /** The whole value, as the acquire script writes it. */
    public static String of(OwnerToken owner, long fencingToken, String holderId) {
        return owner.hex() + ":" + fencingToken + ":" + holderId;
    }

    /** The beginning of the value of a grant. It differs for every other owner and every other fencing token. */
    public static String beginning(OwnerToken owner, long fencingToken) {
        return owner.hex() + ":" + fencingToken + ":";
    }

    /** The beginning of every value that belongs to this owner token. */
    public static String beginning(OwnerToken owner) {
        return owner.hex() + ":";
    }

    /**
     * Reads the holder from the reply of a script.
     *
     * @param state {@code lock} or {@code foreign}
     * @param text {@code <fencing token>:<holder id>}, or the type of a foreign key
     * @param pttlMillis the remaining ttl, negative if the key does not expire
     */
    static Holder holder(String state, String text, long pttlMillis) {
        @Nullable Duration remaining = pttlMillis < 0 ? null : Duration.ofMillis(pttlMillis);
        if (!state.equals("lock")) {
            String id = text.equals("string") ? FOREIGN : FOREIGN + " (the key holds a " + shown(text) + ")";
            return new Holder(id, remaining, OptionalLong.empty());
        }
        int colon = text.indexOf(':');
        String digits = text.substring(0, Math.max(0, colon));
        return new Holder(shown(text.substring(colon + 1)), remaining, token(digits));
    }

    private static OptionalLong token(String digits) {
        return digits.isEmpty() || digits.length() > 16
                ? OptionalLong.empty()
                : OptionalLong.of(Long.parseLong(digits));
    }

    /** Makes a text of another program safe for terminals and logs: without control characters and not too long. */
    static String shown(String text) {
        StringBuilder shown = new StringBuilder(Math.min(text.length(), MAX_SHOWN));
        text.codePoints().limit(MAX_SHOWN).forEach(c -> shown.appendCodePoint(Character.isISOControl(c) ? '?' : c));
        return shown.toString();
    }
}
