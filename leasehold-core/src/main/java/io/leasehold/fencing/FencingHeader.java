package io.leasehold.fencing;

import java.util.regex.Pattern;

/**
 * A fencing token in HTTP: the header {@code Fencing-Token}, whose value is the token in decimal digits.
 *
 * <p>The service answers with these statuses: {@link #STALE} to an old token (the client must stop: repeating the request
 * cannot succeed), {@link #REQUIRED} if the header is missing from a request that needs it, {@link #MALFORMED} if it cannot be
 * read. 412 and not 409: the condition that the request carried was checked and failed; 409 would invite the client to
 * resolve a conflict and to send again.
 */
public final class FencingHeader {

    /** The header's name. */
    public static final String NAME = "Fencing-Token";
    /** The status for a token that is too old: 412 Precondition Failed. */
    public static final int STALE = 412;
    /** The status where the header is missing: 428 Precondition Required (RFC 6585). */
    public static final int REQUIRED = 428;
    /** The status for a value that cannot be read: 400 Bad Request. */
    public static final int MALFORMED = 400;
    /** The status where the resource does not exist: 404 Not Found. */
    public static final int MISSING = 404;

    private static final Pattern DIGITS = Pattern.compile("[1-9][0-9]{0,15}");

    private FencingHeader() {}

    /**
     * The header's value for a token.
     *
     * @throws IllegalArgumentException if it is no fencing token
     */
    public static String format(long token) {
        return Long.toString(FencingToken.require(token));
    }

    /**
     * The token in a header's value.
     *
     * @param value the unchanged value of exactly one header line; surrounding blanks do not matter
     * @throws IllegalArgumentException if it is not one fencing token: answer with {@link #MALFORMED}
     */
    public static long parse(String value) {
        String text = value.strip();
        if (!DIGITS.matcher(text).matches()) {
            // The value is not repeated: it may be long, and is under the control of others.
            throw new IllegalArgumentException("header " + NAME
                    + ": its value must be one fencing token, in decimal digits, without sign or zeros before it");
        }
        return FencingToken.require(Long.parseLong(text));
    }

    /** The status for an answer, or 0 if the request may proceed. */
    public static int status(Admission admission) {
        if (admission instanceof Admission.Rejected) {
            return STALE;
        }
        return admission instanceof Admission.Missing ? MISSING : 0;
    }
}
