package io.leasehold;

import static io.leasehold.Durations.text;

import java.time.Duration;

/** The rules for safe combinations of options: a violation is refused before any request is sent. */
final class LockOptionRules {

    private static final Duration MIN_TTL = Duration.ofMillis(100);
    private static final Duration LARGEST_TTL = Duration.ofHours(24);
    private static final Duration MIN_INTERVAL = Duration.ofMillis(10);
    private static final int MAX_RENEWAL_TRIES = 1_000;
    private static final Duration MIN_RECHECK = Duration.ofMillis(10);
    private static final Duration LARGEST_RECHECK = Duration.ofHours(24);

    private LockOptionRules() {}

    /**
     * Requires that these options are safe.
     *
     * @throws IllegalArgumentException whose message names the violation and the allowed values
     */
    static void require(LockOptions options) {
        Duration ttl = options.ttl();
        within("ttl", ttl, MIN_TTL, LARGEST_TTL, text(MIN_TTL) + " and " + text(LARGEST_TTL));
        within(
                "lockDelay",
                options.lockDelay(),
                Duration.ZERO,
                LARGEST_TTL.minus(ttl),
                "zero and " + text(LARGEST_TTL) + " less the ttl of " + text(ttl));
        if (options.maxHold().compareTo(ttl) < 0) {
            throw refused("maxHold is " + text(options.maxHold()) + ", below the ttl of " + text(ttl));
        }
        Duration interval = options.renewalInterval();
        if (interval != null && interval.compareTo(MIN_INTERVAL) < 0) {
            throw refused(
                    "renewal every " + text(interval) + " would keep the store busy; at least " + text(MIN_INTERVAL));
        }
        if (interval != null && interval.compareTo(Durations.part(options.validity(), 2)) > 0) {
            throw refused("renewal every " + text(interval)
                    + " leaves no room for a failed renewal: two intervals must fit into" + " ttl − drift = "
                    + text(options.validity()));
        }
        // The last renewal may come one interval too early to reach maxHold.
        Duration longest = interval == null ? ttl : options.maxHold().minus(interval);
        String why = interval == null
                ? "the ttl, for without renewal nothing keeps a lock longer: "
                : "maxHold less one renewal interval = ";
        within("atLeast", options.atLeast(), Duration.ZERO, longest, "zero and " + why + text(longest));
        Duration validity = options.validity();
        within(
                "minimumValidity",
                options.minimumValidity(),
                Duration.ZERO,
                validity.minusNanos(1),
                "zero and ttl − drift = " + text(validity));
        within(
                "nodeTimeout",
                options.nodeTimeout(),
                Duration.ofMillis(1),
                Durations.part(ttl, 2),
                "1ms and half the ttl of " + text(ttl));
        if (options.longestUnrenewed().isNegative()
                || options.longestUnrenewed().isZero()) {
            throw refused("ttl " + text(ttl) + " less drift " + text(options.drift()) + ", renewal interval "
                    + (interval == null ? "none" : text(interval)) + " and 2 × node timeout "
                    + text(options.nodeTimeout()) + " leaves no validity");
        }
        if (options.reentryLimit() < 1) {
            throw refused("reentryLimit is " + options.reentryLimit() + "; it must be at least 1");
        }
        if (options.renewalTries() < 1 || options.renewalTries() > MAX_RENEWAL_TRIES) {
            throw refused(
                    "renewalTries is " + options.renewalTries() + "; it must be between 1 and " + MAX_RENEWAL_TRIES);
        }
        within(
                "recheck",
                options.recheck(),
                MIN_RECHECK,
                LARGEST_RECHECK,
                text(MIN_RECHECK) + " and " + text(LARGEST_RECHECK));
    }

    private static void within(String option, Duration value, Duration least, Duration most, String bounds) {
        if (value.compareTo(least) < 0 || value.compareTo(most) > 0) {
            throw refused(option + " is " + text(value) + "; it must be between " + bounds);
        }
    }

    private static IllegalArgumentException refused(String message) {
        return new IllegalArgumentException("lock options: " + message);
    }
}
