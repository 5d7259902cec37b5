package io.leasehold.micrometer;

import io.leasehold.LockListener.AttemptOutcome;
import io.leasehold.LockListener.RenewalOutcome;
import io.leasehold.LossCause;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The meters of one resource. Counters and gauges exist from the start, at zero: an alert on the first loss needs the zero before it.
 * The wait for an outcome other than the lock has a dozen series, and exists from the first such outcome on.
 *
 * <p>Safe for all threads.
 */
final class ResourceMeters {

    private static final Duration[] WAIT_BUCKETS = {
        Duration.ofMillis(1),
        Duration.ofMillis(5),
        Duration.ofMillis(10),
        Duration.ofMillis(50),
        Duration.ofMillis(100),
        Duration.ofMillis(500),
        Duration.ofSeconds(1),
        Duration.ofSeconds(5)
    };
    private static final Duration[] HOLD_BUCKETS = {
        Duration.ofMillis(1),
        Duration.ofMillis(10),
        Duration.ofMillis(100),
        Duration.ofSeconds(1),
        Duration.ofSeconds(10),
        Duration.ofSeconds(60),
        Duration.ofMinutes(10)
    };
    private static final double[] HEADROOM_BUCKETS = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8};

    private final MeterRegistry registry;
    private final Tags tags;
    private final ConcurrentMap<AttemptOutcome, Timer> wait = new ConcurrentHashMap<>();
    private final Map<AttemptOutcome, Counter> failures = new EnumMap<>(AttemptOutcome.class);
    private final Map<RenewalOutcome, Counter> renewals = new EnumMap<>(RenewalOutcome.class);
    private final Map<LossCause, Counter> lost = new EnumMap<>(LossCause.class);
    private final Map<LossCause, Counter> abandoned = new EnumMap<>(LossCause.class);
    private final Timer hold;
    private final DistributionSummary headroom;
    private final AtomicInteger held = new AtomicInteger();
    private final AtomicInteger waiting = new AtomicInteger();

    ResourceMeters(MeterRegistry registry, Tags tags) {
        this.registry = registry;
        this.tags = tags;
        wait.put(AttemptOutcome.ACQUIRED, waitFor(AttemptOutcome.ACQUIRED));
        for (AttemptOutcome outcome : AttemptOutcome.values()) {
            if (outcome != AttemptOutcome.ACQUIRED) {
                failures.put(
                        outcome,
                        Counter.builder("distributed.lock.failures")
                                .description("Attempts that ended without the lock")
                                .tags(tags.and("reason", value(outcome)))
                                .register(registry));
            }
        }
        for (RenewalOutcome outcome : RenewalOutcome.values()) {
            renewals.put(
                    outcome,
                    Counter.builder("distributed.lock.renewals")
                            .description("Renewals of leases")
                            .tags(tags.and("outcome", value(outcome)))
                            .register(registry));
        }
        for (LossCause cause : LossCause.values()) {
            lost.put(
                    cause,
                    Counter.builder("distributed.lock.lost")
                            .description("Leases that ended before they were released")
                            .tags(tags.and("cause", value(cause)))
                            .register(registry));
        }
        for (LossCause cause : new LossCause[] {LossCause.LEAKED, LossCause.THREAD_DIED}) {
            abandoned.put(
                    cause,
                    Counter.builder("distributed.lock.abandoned")
                            .description("Leases that their holder forgot")
                            .tags(tags.and("cause", value(cause)))
                            .register(registry));
        }
        hold = Timer.builder("distributed.lock.hold")
                .description("From the grant of a lease to its end")
                .tags(tags)
                .serviceLevelObjectives(HOLD_BUCKETS)
                .register(registry);
        headroom = DistributionSummary.builder("distributed.lock.headroom")
                .description("Validity left when a renewal was answered, as a part of the ttl")
                .tags(tags)
                .serviceLevelObjectives(HEADROOM_BUCKETS)
                .register(registry);
        Gauge.builder("distributed.lock.held", held, AtomicInteger::get)
                .description("Leases held by this process")
                .tags(tags)
                .strongReference(true)
                .register(registry);
        Gauge.builder("distributed.lock.waiting", waiting, AtomicInteger::get)
                .description("Attempts of this process that are under way")
                .tags(tags)
                .strongReference(true)
                .register(registry);
    }

    private Timer waitFor(AttemptOutcome outcome) {
        return Timer.builder("distributed.lock.wait")
                .description("From the call to the outcome of an attempt on a lock")
                .tags(tags.and("outcome", value(outcome)))
                .serviceLevelObjectives(WAIT_BUCKETS)
                .register(registry);
    }

    private static String value(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }

    void attemptBegan() {
        waiting.incrementAndGet();
    }

    void attemptEnded(AttemptOutcome outcome, Duration waited) {
        waiting.decrementAndGet();
        wait.computeIfAbsent(outcome, this::waitFor).record(waited);
        if (outcome == AttemptOutcome.ACQUIRED) {
            held.incrementAndGet();
        } else {
            increment(failures.get(outcome));
        }
    }

    void renewed(RenewalOutcome outcome, Duration left, Duration ttl) {
        increment(renewals.get(outcome));
        if (outcome != RenewalOutcome.NOT_OURS) {
            headroom.record((double) left.toNanos() / ttl.toNanos());
        }
    }

    void lost(LossCause cause, Duration time) {
        increment(lost.get(cause));
        ended(time);
    }

    void ended(Duration time) {
        held.decrementAndGet();
        hold.record(time);
    }

    void abandoned(LossCause cause) {
        increment(abandoned.get(cause));
    }

    private static void increment(@Nullable Counter counter) {
        if (counter != null) {
            counter.increment();
        }
    }
}
