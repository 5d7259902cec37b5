package io.leasehold.redis.topology;

import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * How many replicas have to acknowledge an acquire before it counts ({@code WAIT}), and for how long they are waited for.
 *
 * <p>It makes losses rarer, and none impossible: the replica that acknowledged need not be the one that takes over.
 *
 * @param replicas zero: none
 * @param timeoutMillis positive if replicas are waited for
 */
public record Acknowledgement(int replicas, long timeoutMillis) {

    /** Waits for no replica. */
    public static final Acknowledgement NONE = new Acknowledgement(0, 0);

    private static final long DEFAULT_MILLIS = 100;
    private static final long MAX_MILLIS = TimeUnit.MINUTES.toMillis(1);
    private static final Pattern SPAN = Pattern.compile("([0-9]{1,6})(ms|s)");

    /** Whether replicas are waited for. */
    public boolean isWanted() {
        return replicas > 0;
    }

    /**
     * Reads the two parameters of a store URI.
     *
     * @throws IllegalArgumentException with the rule, without the URI
     */
    static Acknowledgement parse(@Nullable String replicas, @Nullable String timeout) {
        if (replicas == null) {
            if (timeout != null) {
                throw new IllegalArgumentException("waitTimeout needs waitReplicas=NUMBER beside it");
            }
            return NONE;
        }
        if (!replicas.matches("[1-9][0-9]?")) {
            throw new IllegalArgumentException("waitReplicas=" + replicas + " must be a number from 1 to 99");
        }
        long millis = DEFAULT_MILLIS;
        if (timeout != null) {
            Matcher span = SPAN.matcher(timeout);
            millis = span.matches()
                    ? Long.parseLong(span.group(1)) * (span.group(2).equals("s") ? 1_000 : 1)
                    : 0;
            // WAIT 0 would wait for ever.
            if (millis < 1 || millis > MAX_MILLIS) {
                throw new IllegalArgumentException(
                        "waitTimeout=" + timeout + " must be a span from 1ms to 60s, for example 100ms");
            }
        }
        return new Acknowledgement(Integer.parseInt(replicas), millis);
    }
}
