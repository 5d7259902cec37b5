package io.leasehold.micrometer;

import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.admin.Leak;
import io.leasehold.fencing.Admission;
import io.leasehold.fencing.FencingGuard;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A listener that maintains the meters of locks. Add it to the builder of a client; use one instance for all clients of
 * a registry.
 *
 * <pre>{@code
 * LockClient locks = Leasehold.builder()
 *         .store("redis://localhost:6379")
 *         .listener(LockMetrics.of(registry))
 *         .connect();
 * }</pre>
 *
 * <p><b>Guarantee.</b> Every attempt is counted once, with its outcome. Every hold is counted once, when it ends. The
 * tag {@code resource} is the template of the name ({@code order:{id}}), never the name; names without a template are
 * {@code _exact} unless {@linkplain Builder#resources allowed}. The tag has at most {@link Builder#mostResources}
 * values, plus the allowed ones, {@code _exact} and {@code _other}: one warning reports the first template that becomes
 * {@code _other}.
 *
 * <p><b>Threads.</b> Any thread may use it. It never blocks, except in the registry.
 */
public final class LockMetrics implements LockListener {

    private final MeterRegistry registry;
    private final Tags tags;
    private final ResourceTag resource;
    private final ConcurrentMap<String, ResourceMeters> meters = new ConcurrentHashMap<>();

    private final ConcurrentMap<Leak.Kind, AtomicInteger> leaksByKind = new ConcurrentHashMap<>();

    private LockMetrics(Builder builder) {
        this.registry = builder.registry;
        this.tags = builder.tags;
        this.resource = new ResourceTag(Set.copyOf(builder.resources), builder.onlyResources, builder.mostResources);
        builder.resources.forEach(this::metersOf);
    }

    /** Creates meters in the registry, with at most 50 templates. */
    public static LockMetrics of(MeterRegistry registry) {
        return builder(registry).build();
    }

    /** Starts the configuration of the meters. */
    public static Builder builder(MeterRegistry registry) {
        return new Builder(registry);
    }

    /**
     * Returns this guard, and counts its rejections as {@code distributed.lock.fencing.rejected}.
     *
     * @param template the kind of the guarded resources, for the tag {@code resource}; bounded like all others
     */
    public FencingGuard counting(FencingGuard guard, String template) {
        Objects.requireNonNull(template, "template");
        Counter rejected = Counter.builder("distributed.lock.fencing.rejected")
                .description(
                        "Fencing tokens that a resource refused: a holder tried to use it after its lease had ended")
                .tags(tags.and("resource", resource.of(template, template)))
                .register(registry);
        return guard.reportingTo(admission -> {
            if (admission instanceof Admission.Rejected) {
                rejected.increment();
            }
        });
    }

    /**
     * Publishes the result of a search ({@link io.leasehold.admin.LockAdmin#leaks}) as the gauge
     * {@code distributed.lock.leaks}, by kind. Call it again after each search.
     */
    public void leaksFound(Collection<Leak> leaks) {
        for (Leak.Kind kind : Leak.Kind.values()) {
            leaksByKind.computeIfAbsent(kind, this::leakGauge).set((int)
                    leaks.stream().filter(leak -> leak.kind() == kind).count());
        }
    }

    private AtomicInteger leakGauge(Leak.Kind kind) {
        AtomicInteger found = new AtomicInteger();
        Gauge.builder("distributed.lock.leaks", found, AtomicInteger::get)
                .description("Leaks found at the store by the last search")
                .tags(tags.and("kind", kind.name().toLowerCase(Locale.ROOT)))
                .strongReference(true)
                .register(registry);
        return found;
    }

    private ResourceMeters metersOf(LockName name) {
        return metersOf(resource.of(name));
    }

    private ResourceMeters metersOf(String value) {
        ResourceMeters known = meters.get(value);
        return known != null
                ? known
                : meters.computeIfAbsent(value, v -> new ResourceMeters(registry, tags.and("resource", v)));
    }

    @Override
    public void attemptBegan(AttemptBegan event) {
        metersOf(event.name()).attemptBegan();
    }

    @Override
    public void attemptEnded(AttemptEnded event) {
        metersOf(event.name()).attemptEnded(event.outcome(), event.waited());
    }

    @Override
    public void renewed(Renewed event) {
        metersOf(event.name()).renewed(event.outcome(), event.headroom(), event.ttl());
    }

    @Override
    public void lost(Lost event) {
        metersOf(event.name()).lost(event.cause(), event.held());
    }

    @Override
    public void released(Released event) {
        metersOf(event.name()).ended(event.held());
    }

    @Override
    public void abandoned(Abandoned event) {
        metersOf(event.name()).abandoned(event.cause());
    }

    /** The configuration of the meters. */
    public static final class Builder {

        private static final int MAX_RESOURCES = 50;
        private static final int LARGEST_CAP = 10_000;

        private final MeterRegistry registry;
        private final Set<String> resources = new LinkedHashSet<>();
        private boolean onlyResources;
        private int mostResources = MAX_RESOURCES;
        private Tags tags = Tags.empty();

        private Builder(MeterRegistry registry) {
            this.registry = Objects.requireNonNull(registry, "registry");
        }

        /** Sets the templates, or names without a template, that always have their own value. */
        public Builder resources(String... templates) {
            resources.addAll(List.of(templates));
            return this;
        }

        /** Distinguishes only the templates of {@link #resources}; all others are {@code _other}. */
        public Builder onlyResources() {
            onlyResources = true;
            return this;
        }

        /**
         * Sets the number of templates with their own value, in addition to those of {@link #resources}: 0 … 10000,
         * default 50. One template creates about 60 series, and at most 120.
         */
        public Builder mostResources(int most) {
            if (most < 0 || most > LARGEST_CAP) {
                throw new IllegalArgumentException("mostResources is " + most + "; it must be 0 … " + LARGEST_CAP);
            }
            mostResources = most;
            return this;
        }

        /** Adds tags to every meter, such as the application. */
        public Builder tags(Iterable<Tag> more) {
            tags = tags.and(more);
            return this;
        }

        /** Creates the meters; those of {@link #resources} exist from now on. */
        public LockMetrics build() {
            return new LockMetrics(this);
        }
    }
}
