package io.leasehold.cdi;

import io.leasehold.Fairness;
import io.leasehold.Guarantee;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockOptions;
import io.leasehold.LockStoreException;
import jakarta.enterprise.inject.Any;
import jakarta.enterprise.inject.Instance;
import java.time.Duration;
import java.util.Optional;

/** Creates the client that the settings {@code leasehold.*} describe. */
final class ConfiguredClient {

    private ConfiguredClient() {}

    /**
     * Connects the client.
     *
     * @throws LockedUsageException if the settings conflict, or the store does not answer
     */
    static LockClient connected(Instance<Object> beans) {
        Leasehold.Builder builder = Leasehold.builder();
        builder.store(
                Settings.text("leasehold.uri")
                        .orElseThrow(
                                () -> new LockedUsageException(
                                        "there is no store for locks: neither a setting leasehold.uri nor a LockClient of the application",
                                        "Set leasehold.uri=redis://localhost:6379, or declare @Produces @ApplicationScoped LockClient locks()")));
        Settings.text("leasehold.label").ifPresent(builder::label);
        Settings.constant("leasehold.require.exclusion", Guarantee.Exclusion.class)
                .ifPresent(builder::require);
        Settings.constant("leasehold.require.fencing", Guarantee.Fencing.class).ifPresent(builder::require);
        Settings.constant("leasehold.require.queueing", Guarantee.Queueing.class)
                .ifPresent(builder::require);
        Settings.constant("leasehold.require.scope", Guarantee.Scope.class).ifPresent(builder::require);
        beans.select(LockListener.class, Any.Literal.INSTANCE).forEach(builder::listener);
        try {
            setDefaults(builder);
            boolean lazily = Settings.text("leasehold.connect-lazily")
                    .filter("true"::equalsIgnoreCase)
                    .isPresent();
            return lazily ? builder.connectLazily() : builder.connect();
        } catch (IllegalArgumentException e) {
            throw new LockedUsageException(
                    "the store for locks cannot be used: " + e.getMessage(),
                    "Change leasehold.uri or leasehold.defaults.*",
                    e);
        } catch (LockStoreException e) {
            throw new LockedUsageException(
                    "the store for locks cannot be used: " + e.getMessage(),
                    "Start it, let this application reach it, or change leasehold.uri and leasehold.require.*",
                    e);
        }
    }

    /** Sets only configured values: otherwise the store's own limits apply. */
    private static void setDefaults(Leasehold.Builder builder) {
        Optional<Duration> ttl = Settings.duration("leasehold.defaults.ttl");
        Optional<Duration> maxHold = Settings.duration("leasehold.defaults.max-hold");
        Optional<Duration> nodeTimeout = Settings.duration("leasehold.defaults.node-timeout");
        Optional<Fairness> fairness = Settings.constant("leasehold.defaults.fairness", Fairness.class);
        builder.defaults(standard -> {
            LockOptions options = ttl.map(standard::ttl).orElse(standard);
            options = maxHold.map(options::maxHold).orElse(options);
            options = nodeTimeout.map(options::nodeTimeout).orElse(options);
            return fairness.map(options::fairness).orElse(options);
        });
    }
}
