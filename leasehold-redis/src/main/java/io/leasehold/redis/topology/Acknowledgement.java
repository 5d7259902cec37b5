package io.leasehold.redis.topology;

import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The number of replicas that must acknowledge an acquire before it counts ({@code WAIT}), and the longest wait for
 * them.
 *
 * <p>An acknowledgement makes losses rarer but not impossible: the replica that takes over need not be one that
 * acknowledged.
 *
 * @param replicas the number of replicas, zero for no wait
 * @param timeoutMillis the longest wait, positive if the number of replicas is
 */
public record Acknowledgement(int replicas, long timeoutMillis) {

    /** Waits for no replica. */
    public static final Acknowledgement NONE = new Acknowledgement(0, 0);

    private static final long DEFAULT_MILLIS = 100;
    private static final long MAX_MILLIS = TimeUnit.MINUTES.toMillis(1);
    private static final Pattern SPAN = Pattern.compile("([0-9]{1,6})(ms|s)");

    /** Whether an acquire waits for replicas. */
    public boolean isWanted() {
        return replicas > 0;
    }

    /**
     * Reads the two parameters of a store URI.
     *
     * @throws IllegalArgumentException if a parameter is invalid; the message has the rule but not the URI
     */
    static Acknowledgement parse(@Nullable String replicas, @Nullable String timeout) {
        if (replicas == null) {
            if (timeout != null) {
                throw new IllegalArgumentException("waitTimeout needs waitReplicas=NUMBER as well");
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
            // WAIT 0 would wait forever.
            if (millis < 1 || millis > MAX_MILLIS) {
                throw new IllegalArgumentException(
                        "waitTimeout=" + timeout + " must be a span from 1ms to 60s, for example 100ms");
            }
        }
        return new Acknowledgement(Integer.parseInt(replicas), millis);
    }
}
