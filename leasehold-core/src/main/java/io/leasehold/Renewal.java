package io.leasehold;

import java.time.Duration;
import java.util.Objects;

/**
 * Whether and how often a held lease is extended.
 *
 * <p>Renewal moves the end of a lease to one ttl (less drift) after the renewal was <em>sent</em>.
 */
public sealed interface Renewal {

    /** Renewal every third of the ttl, which leaves room for two failed renewals: the default. */
    static Renewal automatic() {
        return EveryThirdOfTtl.INSTANCE;
    }

    /**
     * Renewal at the given interval; {@link LockOptions} refuses an interval that does not fit twice into the validity.
     */
    static Renewal every(Duration interval) {
        return new Every(interval);
    }

    /** No renewal: the lease ends one ttl after its request, unless the caller renews it. */
    static Renewal none() {
        return None.INSTANCE;
    }

    /** See {@link Renewal#automatic()}. */
    enum EveryThirdOfTtl implements Renewal {
        /** The only value. */
        INSTANCE
    }

    /**
     * See {@link Renewal#every(Duration)}.
     *
     * @param interval the time from sending one renewal to sending the next, above zero
     */
    record Every(Duration interval) implements Renewal {
        /** Refuses intervals that are zero or negative. */
        public Every {
            Objects.requireNonNull(interval, "interval");
            if (interval.isZero() || interval.isNegative()) {
                throw new IllegalArgumentException(
                        "renewal interval is " + Durations.text(interval) + "; it must be above zero");
            }
        }
    }

    /** See {@link Renewal#none()}. */
    enum None implements Renewal {
        /** The only value. */
        INSTANCE
    }
}
