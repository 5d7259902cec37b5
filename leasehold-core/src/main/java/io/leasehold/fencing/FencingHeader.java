package io.leasehold.fencing;

import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A fencing token in HTTP: the header {@code Fencing-Token}, whose value is the token in decimal digits.
 *
 * <p>A second header, {@code Fencing-Access}, carries the kind of the lease: {@code read} or {@code write}. A request
 * without it is a writer's. So a service that does not know this header, or a proxy that drops it, is safe: it only
 * rejects older readers after newer ones. A service must refuse a request of a reader that changes something (such as a
 * PUT with {@code read}) with {@link #MALFORMED}: readers do not exclude each other.
 *
 * <p>The service answers with these statuses: {@link #STALE} to an old token (the client must stop: repeating the
 * request cannot succeed), {@link #REQUIRED} if a request that needs the header lacks it, {@link #MALFORMED} if it
 * cannot be parsed. A stale token is 412 and not 409: a condition of the request failed. 409 would invite the client to
 * resolve a conflict and to resend the request.
 */
public final class FencingHeader {

    /** The header's name. */
    public static final String NAME = "Fencing-Token";
    /** The name of the header with the kind of the lease. */
    public static final String ACCESS = "Fencing-Access";
    /** The status for a token that is too old: 412 Precondition Failed. */
    public static final int STALE = 412;
    /** The status for a missing header: 428 Precondition Required (RFC 6585). */
    public static final int REQUIRED = 428;
    /** The status for a value that cannot be parsed, and for a reader that wants to change something: 400 Bad Request. */
    public static final int MALFORMED = 400;
    /** The status for a resource that does not exist: 404 Not Found. */
    public static final int MISSING = 404;

    private static final String READ = "read";
    private static final String WRITE = "write";
    private static final Pattern DIGITS = Pattern.compile("[1-9][0-9]{0,15}");

    private FencingHeader() {}

    /**
     * Formats a token as the header's value.
     *
     * @throws IllegalArgumentException if it is not a valid fencing token
     */
    public static String format(long token) {
        return Long.toString(FencingToken.require(token));
    }

    /**
     * Parses the token from a header's value.
     *
     * @param value the unchanged value of exactly one header line; surrounding blanks are ignored
     * @throws IllegalArgumentException if it is not exactly one fencing token: answer with {@link #MALFORMED}
     */
    public static long parse(String value) {
        String text = value.strip();
        if (!DIGITS.matcher(text).matches()) {
            // Does not repeat the value: it may be long, and another party controls it.
            throw new IllegalArgumentException("header " + NAME
                    + ": its value must be one fencing token, in decimal digits, without sign or leading zeros");
        }
        return FencingToken.require(Long.parseLong(text));
    }

    /** Formats the kind of a lease as the value of the header {@link #ACCESS}. */
    public static String format(Access access) {
        return access == Access.READ ? READ : WRITE;
    }

    /**
     * Parses the kind of a lease from the value of the header {@link #ACCESS}.
     *
     * @param value the unchanged value of the only such line, surrounding blanks are ignored; null if there is none:
     *     the request is a writer's
     * @throws IllegalArgumentException if it is no kind of lease: answer with {@link #MALFORMED}
     */
    public static Access parseAccess(@Nullable String value) {
        if (value == null) {
            return Access.WRITE;
        }
        return switch (value.strip()) {
            case READ -> Access.READ;
            case WRITE -> Access.WRITE;
            default ->
                throw new IllegalArgumentException(
                        "header " + ACCESS + ": its value must be " + READ + " or " + WRITE + ", in lower case");
        };
    }

    /** Returns the status for an answer, or 0 if the request may proceed. */
    public static int status(Admission admission) {
        if (admission instanceof Admission.Rejected) {
            return STALE;
        }
        return admission instanceof Admission.Missing ? MISSING : 0;
    }
}
