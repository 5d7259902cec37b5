package io.leasehold.engine;

import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Consumer;

/**
 * The risk of several leases that are one hold, for one callback: it is called for the first lease that is at risk, and
 * again only once every lease that was at risk has been renewed.
 *
 * <p>{@code this} guards the field; the callback is called without the guard. It refers to no handle: a dropped hold must
 * be detected.
 */
final class JoinedRisk {

    private final Consumer<? super Duration> callback;
    /** The leases that were at risk, and have perhaps not been renewed since. */
    private final Set<ActiveLease> parts = new HashSet<>();

    JoinedRisk(Consumer<? super Duration> callback) {
        this.callback = callback;
    }

    /** Reports that this lease is at risk: for the first time, or after a renewal of it. */
    void of(ActiveLease part, Duration remaining) {
        synchronized (this) {
            parts.remove(part);
            parts.removeIf(other -> !other.owner().ask(GrantMachine::isAtRisk));
            boolean isNews = parts.isEmpty();
            parts.add(part);
            if (!isNews) {
                return;
            }
        }
        callback.accept(remaining);
    }
}
