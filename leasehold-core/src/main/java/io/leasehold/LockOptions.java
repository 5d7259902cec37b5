package io.leasehold;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The options for holding a lock and waiting for it: an immutable value with sound {@linkplain #defaults() defaults}.
 *
 * <p>Set on the client ({@link Leasehold.Builder#defaults}) or on a lock ({@link DistributedLock#with}), never per
 * call. Timings that would end a healthy lease are refused here, and the message names the values.
 *
 * <p>Derived values, with their formulas:
 *
 * <ul>
 *   <li>{@link #drift()} = ttl × 1 % + 2 ms: the bound on how much the rates of two clocks, and the
 *       rounding of stores to milliseconds, may differ over a ttl;
 *   <li>{@link #validity()} = ttl − drift: how long a grant is valid from the sending of its request;
 *   <li>{@link #longestCheckable()} = validity − 2 × node timeout;
 *   <li>{@link #longestUnrenewed()} = validity − renewal interval − 2 × node timeout.
 * </ul>
 */
public final class LockOptions {

    private static final LockOptions DEFAULTS = new LockOptions(new Values());

    private final Values values;

    private LockOptions(Values values) {
        this.values = values;
        LockOptionRules.require(this);
    }

    /** The values that the withers set; immutable once their options exist. Null means "derived from the ttl". */
    private static final class Values implements Cloneable {
        private Duration ttl = Duration.ofSeconds(30);
        private Renewal renewal = Renewal.automatic();
        private Duration maxHold = Duration.ofHours(24);
        private @Nullable Duration minimumValidity;
        private @Nullable Duration nodeTimeout;
        private Duration recheck = Duration.ofSeconds(3);
        private Backoff retry = Backoff.exponential(Duration.ofMillis(10), Duration.ofSeconds(1));
        private Fairness fairness = Fairness.BOUNDED_LOCAL_HAND_OVER;
        private Duration lockDelay = Duration.ZERO;
        private Duration atLeast = Duration.ZERO;
        private int reentryLimit = Integer.MAX_VALUE;
        private int renewalTries = 10;

        Values copy() {
            try {
                return (Values) clone();
            } catch (CloneNotSupportedException e) {
                throw new AssertionError(e);
            }
        }
    }

    private LockOptions with(Consumer<Values> change) {
        Values changed = values.copy();
        change.accept(changed);
        return new LockOptions(changed);
    }

    /**
     * The defaults: ttl 30 s, renewed every third of it, for at most 24 h; minimum validity on arrival a tenth of the
     * ttl; recheck of a held lock after 3 s; retries from 10 ms to 1 s.
     */
    public static LockOptions defaults() {
        return DEFAULTS;
    }

    /** The time for which the store keeps the lock without a renewal: 100 ms to 24 h. Default 30 s. */
    public LockOptions ttl(Duration ttl) {
        return with(v -> v.ttl = Objects.requireNonNull(ttl, "ttl"));
    }

    /** Whether and how often leases are renewed. Default: every third of the ttl. */
    public LockOptions renewal(Renewal renewal) {
        return with(v -> v.renewal = Objects.requireNonNull(renewal, "renewal"));
    }

    /**
     * The longest time from acquisition for which a lease is renewed; when its validity ends after that, it is lost
     * with {@link LossCause#MAX_HOLD}. Not below the ttl. Default 24 h.
     */
    public LockOptions maxHold(Duration maxHold) {
        return with(v -> v.maxHold = Objects.requireNonNull(maxHold, "maxHold"));
    }

    /**
     * The minimum validity that a new lease must have left when it arrives; a grant with less is released, and the
     * attempt continues. Below ttl − drift. Default: a tenth of the ttl.
     */
    public LockOptions minimumValidity(Duration minimumValidity) {
        return with(v -> v.minimumValidity = Objects.requireNonNull(minimumValidity, "minimumValidity"));
    }

    /**
     * The longest time that a healthy node takes to answer. If set, it limits every answer. In a quorum it limits the
     * answer of each node, and overrides the configuration of the set. Elsewhere the store is the node, and a request
     * that it has not answered in that time has failed. If not set, the limit of a store is max(50 ms, min(3 s, ttl /
     * 10)), and that of a quorum's node is the configuration of the set, by default the value here. An interrupted
     * caller waits at most that long for its undo. 1 ms to half the ttl. Default: ttl / 200, at least 5 ms, at most 50
     * ms.
     */
    public LockOptions nodeTimeout(Duration nodeTimeout) {
        return with(v -> v.nodeTimeout = Objects.requireNonNull(nodeTimeout, "nodeTimeout"));
    }

    /**
     * The time after which a waiter that was not woken rechecks a held lock; the holder's remaining ttl, if shorter. Up
     * to 20 % is added at random. 10 ms to 24 h. Default 3 s.
     */
    public LockOptions recheck(Duration recheck) {
        return with(v -> v.recheck = Objects.requireNonNull(recheck, "recheck"));
    }

    /** The delays between tries after transient errors, and at stores that support only polling. */
    public LockOptions retry(Backoff retry) {
        return with(v -> v.retry = Objects.requireNonNull(retry, "retry"));
    }

    /**
     * The order in which waiters obtain the lock; {@link Fairness} defines it within and between processes. Default:
     * FIFO with bounded local hand-over.
     */
    public LockOptions fairness(Fairness fairness) {
        return with(v -> v.fairness = Objects.requireNonNull(fairness, "fairness"));
    }

    /**
     * The time for which the lock stays without a holder after an <em>abnormal</em> end (a crash, a loss): the store
     * keeps it for ttl + lock delay, while the holder relies on the ttl only. Closing the lost lease afterwards does
     * not shorten the delay; a forced release does, and so does the end of the session at ZooKeeper. For resources that
     * cannot check fencing tokens and need time to see the last effects of a lost holder. From zero to 24 h less the
     * ttl. Default zero.
     */
    public LockOptions lockDelay(Duration lockDelay) {
        return with(v -> v.lockDelay = Objects.requireNonNull(lockDelay, "lockDelay"));
    }

    /**
     * The minimum time for which a lock stays taken after its acquisition, even if it is released sooner: for jobs that
     * start on several machines at slightly different times, because their clocks differ. An earlier release returns
     * {@link ReleaseOutcome#KEPT}: the holder is done, but the client keeps renewing the lock until that time. Then it
     * frees the lock for others, including waiters in this process. A forced release ends the lock at once.
     *
     * <p>If the client is closed or crashes meanwhile, the lock ends with its ttl. It also ends with its ttl if the
     * lease is lost because its thread died ({@link LossCause#THREAD_DIED}), its handle was dropped
     * ({@link LossCause#LEAKED}) or the store could not be reached. If the process ends with its job, set a ttl no
     * shorter than this time. At stores where a hold ends with its session or its process (ZooKeeper, SQLite) the
     * client must stay open. From zero to {@link #maxHold} less one renewal interval, since the last renewal may come
     * that long before the end; without renewal, to the ttl. Default zero.
     */
    public LockOptions atLeast(Duration atLeast) {
        return with(v -> v.atLeast = Objects.requireNonNull(atLeast, "atLeast"));
    }

    /**
     * The number of holds that one thread may have at once through a {@link ReentrantLockView}; a further one is
     * refused with an {@link IllegalStateException}, and the hold stays valid. Detects infinite recursion. At least 1.
     * Default 2<sup>31</sup> − 1.
     */
    public LockOptions reentryLimit(int reentryLimit) {
        return with(v -> v.reentryLimit = reentryLimit);
    }

    /**
     * The number of automatic renewals within one validity, not counting those requested by {@link Hold#renew}. A
     * failed renewal is retried after a quarter of the interval, but not so soon that the tries are used up before the
     * validity ends. More tries detect the recovery of a store sooner, but add load to an overloaded store. 1 to 1,000.
     * Default 10.
     */
    public LockOptions renewalTries(int renewalTries) {
        return with(v -> v.renewalTries = renewalTries);
    }

    /** The ttl. */
    public Duration ttl() {
        return values.ttl;
    }

    /** Whether and how leases are renewed. */
    public Renewal renewal() {
        return values.renewal;
    }

    /** The time between two renewals, or null if leases are not renewed. */
    public @Nullable Duration renewalInterval() {
        Renewal renewal = values.renewal;
        if (renewal instanceof Renewal.Every every) {
            return every.interval();
        }
        return renewal instanceof Renewal.None ? null : Durations.part(values.ttl, 3);
    }

    /** The longest total time of a renewed lease. */
    public Duration maxHold() {
        return values.maxHold;
    }

    /** The minimum validity on arrival. */
    public Duration minimumValidity() {
        Duration set = values.minimumValidity;
        return set != null ? set : Durations.part(values.ttl, 10);
    }

    /** The longest time that a healthy node takes to answer. */
    public Duration nodeTimeout() {
        Duration set = values.nodeTimeout;
        if (set != null) {
            return set;
        }
        long derived = Durations.part(values.ttl, 200).toNanos();
        return Duration.ofNanos(Math.max(5_000_000L, Math.min(50_000_000L, derived)));
    }

    /** The node timeout, if it was set. */
    public Optional<Duration> givenNodeTimeout() {
        return Optional.ofNullable(values.nodeTimeout);
    }

    /** The longest time between two checks of a held lock, before jitter. */
    public Duration recheck() {
        return values.recheck;
    }

    /** The delays between retries. */
    public Backoff retry() {
        return values.retry;
    }

    /** The order in which waiters obtain the lock. */
    public Fairness fairness() {
        return values.fairness;
    }

    /** The time for which the lock stays without a holder after an abnormal end. */
    public Duration lockDelay() {
        return values.lockDelay;
    }

    /** The minimum time for which a lock stays taken, even if it is released sooner. */
    public Duration atLeast() {
        return values.atLeast;
    }

    /** The number of holds that one thread may have at once. */
    public int reentryLimit() {
        return values.reentryLimit;
    }

    /** The number of automatic renewals within one validity. */
    public int renewalTries() {
        return values.renewalTries;
    }

    /** The drift of a lease with this ttl: ttl × 1 % + 2 ms. */
    public static Duration driftOf(Duration ttl) {
        return Durations.part(ttl, 100).plusMillis(2);
    }

    /** The drift of this ttl: ttl × 1 % + 2 ms. */
    public Duration drift() {
        return driftOf(values.ttl);
    }

    /** ttl − {@link #drift()}. */
    public Duration validity() {
        return values.ttl.minus(drift());
    }

    /**
     * The longest duration that {@link Hold#ensureValidFor} accepts: validity − 2 × node timeout, which is left after a renewal
     * that a healthy store has answered; without renewal the validity. Close to it, each check costs a renewal.
     */
    public Duration longestCheckable() {
        return renewalInterval() == null
                ? validity()
                : validity().minus(nodeTimeout().plus(nodeTimeout()));
    }

    /**
     * The validity that a healthy hold has at any moment, without a renewal for a check: validity − renewal interval − 2 × node timeout;
     * without renewal the validity. A lease that begins from a store's message has less until its first renewal is
     * answered; {@link Hold#ensureValidFor} waits for that answer.
     */
    public Duration longestUnrenewed() {
        Duration interval = renewalInterval();
        return interval == null ? validity() : longestCheckable().minus(interval);
    }

    private List<Object> all() {
        return List.of(
                ttl(),
                renewal(),
                maxHold(),
                Optional.ofNullable(values.minimumValidity),
                givenNodeTimeout(),
                recheck(),
                retry(),
                fairness(),
                lockDelay(),
                atLeast(),
                reentryLimit(),
                renewalTries());
    }

    @Override
    public boolean equals(@Nullable Object o) {
        return o instanceof LockOptions other && all().equals(other.all());
    }

    @Override
    public int hashCode() {
        return all().hashCode();
    }

    @Override
    public String toString() {
        Duration interval = renewalInterval();
        return "ttl=" + Durations.text(ttl())
                + " renewal=" + (interval == null ? "none" : Durations.text(interval))
                + " maxHold=" + Durations.text(maxHold())
                + " minimumValidity=" + Durations.text(minimumValidity())
                + " nodeTimeout=" + Durations.text(nodeTimeout())
                + " recheck=" + Durations.text(recheck())
                + " retry=" + retry() + " fairness=" + fairness()
                + " lockDelay=" + Durations.text(lockDelay())
                + " atLeast=" + Durations.text(atLeast())
                + " reentryLimit=" + reentryLimit() + " renewalTries=" + renewalTries();
    }
}
