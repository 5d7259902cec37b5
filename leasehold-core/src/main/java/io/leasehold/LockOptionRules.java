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
        if (ttl.compareTo(MIN_TTL) < 0 || ttl.compareTo(LARGEST_TTL) > 0) {
            throw refused(
                    "ttl is " + text(ttl) + "; it must be between " + text(MIN_TTL) + " and " + text(LARGEST_TTL));
        }
        Duration delay = options.lockDelay();
        if (delay.isNegative() || delay.compareTo(LARGEST_TTL.minus(ttl)) > 0) {
            throw refused("lockDelay is " + text(delay) + "; it must be between zero and " + text(LARGEST_TTL)
                    + " less the ttl of " + text(ttl));
        }
        if (options.maxHold().compareTo(ttl) < 0) {
            throw refused("maxHold is " + text(options.maxHold()) + ", below the ttl of " + text(ttl));
        }
        Duration interval = options.renewalInterval();
        if (interval != null && interval.compareTo(MIN_INTERVAL) < 0) {
            throw refused(
                    "renewal every " + text(interval) + " would keep the store busy; at least " + text(MIN_INTERVAL));
        }
        if (interval != null && interval.compareTo(options.validity().dividedBy(2)) > 0) {
            throw refused("renewal every " + text(interval)
                    + " leaves no room for a failed renewal: two intervals must fit into" + " ttl − drift = "
                    + text(options.validity()));
        }
        // The last renewal may be one interval earlier than it would have to be to reach maxHold.
        Duration longest = interval == null ? ttl : options.maxHold().minus(interval);
        if (options.atLeast().isNegative() || options.atLeast().compareTo(longest) > 0) {
            throw refused("atLeast is " + text(options.atLeast()) + "; it must be between zero and "
                    + (interval == null
                            ? "the ttl, for without renewal nothing keeps a lock longer: "
                            : "maxHold less one renewal interval = ")
                    + text(longest));
        }
        if (options.minimumValidity().isNegative() || options.minimumValidity().compareTo(options.validity()) >= 0) {
            throw refused("minimumValidity is " + text(options.minimumValidity())
                    + "; it must be between zero and ttl − drift = " + text(options.validity()));
        }
        if (options.nodeTimeout().compareTo(Duration.ofMillis(1)) < 0
                || options.nodeTimeout().compareTo(ttl.dividedBy(2)) > 0) {
            throw refused("nodeTimeout is " + text(options.nodeTimeout())
                    + "; it must be between 1ms and half the ttl of " + text(ttl));
        }
        if (options.longestCheckable().isNegative()
                || options.longestCheckable().isZero()) {
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
        if (options.recheck().compareTo(MIN_RECHECK) < 0 || options.recheck().compareTo(LARGEST_RECHECK) > 0) {
            throw refused("recheck is " + text(options.recheck()) + "; it must be between " + text(MIN_RECHECK)
                    + " and " + text(LARGEST_RECHECK));
        }
    }

    private static IllegalArgumentException refused(String message) {
        return new IllegalArgumentException("lock options: " + message);
    }
}
