package io.leasehold.simulator;

import io.leasehold.Backoff;
import io.leasehold.Fairness;
import io.leasehold.LockOptions;
import io.leasehold.Renewal;
import io.leasehold.testkit.virtual.VirtualWorld;
import java.time.Duration;

/** The options of the locks of simulated clients. */
final class ClientOptions {

    static final Duration TTL = Duration.ofSeconds(2);
    static final Duration NODE_TIMEOUT = Duration.ofMillis(100);
    static final Duration RECHECK = Duration.ofSeconds(1);
    static final Duration LOCK_DELAY = Duration.ofMillis(500);
    /** The time within which every store must answer: a tenth of the ttl, or two node timeouts. */
    static final Duration ANSWER = Duration.ofMillis(200);

    private ClientOptions() {}

    /** Draws the options of one client. ({@code single} means that it has one node.) */
    static LockOptions draw(VirtualWorld world, boolean single) {
        LockOptions options = LockOptions.defaults()
                .ttl(TTL)
                .recheck(RECHECK)
                .retry(Backoff.exponential(Duration.ofMillis(20), Duration.ofSeconds(1)));
        if (!single) {
            options = options.nodeTimeout(NODE_TIMEOUT);
        }
        return switch ((int) world.randomBelow(7)) {
            case 0 -> options.renewal(Renewal.none());
            case 1 -> options.fairness(Fairness.STRICT_FIFO);
            case 2 -> single ? options.lockDelay(LOCK_DELAY) : options;
            case 3 -> options.maxHold(Duration.ofSeconds(4));
            case 4 -> options.minimumValidity(options.validity().minusMillis(15));
            default -> options;
        };
    }
}
