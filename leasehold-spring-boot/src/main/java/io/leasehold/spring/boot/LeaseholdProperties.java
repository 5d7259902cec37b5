package io.leasehold.spring.boot;

import io.leasehold.Fairness;
import io.leasehold.Guarantee;
import io.leasehold.LockOptions;
import io.leasehold.spring.LintLevel;
import io.leasehold.spring.OuterTransaction;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The properties {@code leasehold.*}; the metadata documents each of them.
 *
 * @param uri the URI of the store
 * @param connectLazily whether the application starts while the store does not answer
 * @param label the label of the client, instead of the application's name
 * @param require the promises that the store must keep
 * @param defaults the default options of locks
 * @param jdbc locks in a database of the application
 * @param redis locks at the Redis of the application
 * @param clients further clients, by the names of their beans
 * @param outerTransaction see {@link OuterTransaction}
 * @param lint see {@link LintLevel}
 * @param shutdown the behaviour when the application stops
 */
@ConfigurationProperties("leasehold")
record LeaseholdProperties(
        @Nullable String uri,
        @DefaultValue("false") boolean connectLazily,
        @Nullable String label,
        @DefaultValue Require require,
        @DefaultValue Defaults defaults,
        @DefaultValue Jdbc jdbc,
        @DefaultValue Redis redis,
        @DefaultValue Map<String, Client> clients,
        @DefaultValue("RELEASE_AFTER_COMPLETION") OuterTransaction outerTransaction,
        @DefaultValue("WARN") LintLevel lint,
        @DefaultValue Shutdown shutdown) {

    /** The settings of the client without a name. */
    Client client() {
        return new Client(uri, connectLazily, label, require, defaults, jdbc, redis);
    }

    /**
     * The settings of one client; they have the same meaning as those of the client without a name.
     *
     * @param uri the URI of the store
     * @param connectLazily whether the application starts while the store does not answer
     * @param label the label of the client, instead of the application's name
     * @param require the promises that the store must keep
     * @param defaults the default options of locks
     * @param jdbc locks in a database of the application
     * @param redis locks at the Redis of the application
     */
    record Client(
            @Nullable String uri,
            @DefaultValue("false") boolean connectLazily,
            @Nullable String label,
            @DefaultValue Require require,
            @DefaultValue Defaults defaults,
            @DefaultValue Jdbc jdbc,
            @DefaultValue Redis redis) {}

    /** The levels below which the application does not start. */
    record Require(
            Guarantee.@Nullable Exclusion exclusion,
            Guarantee.@Nullable Fencing fencing,
            Guarantee.@Nullable Queueing queueing,
            Guarantee.@Nullable Scope scope) {

        Stream<Guarantee> levels() {
            return Stream.<Guarantee>of(exclusion, fencing, queueing, scope).filter(Objects::nonNull);
        }
    }

    /** The default options of locks. */
    record Defaults(
            @Nullable Duration ttl,
            @Nullable Duration maxHold,
            @Nullable Duration maxWait,
            @Nullable Duration nodeTimeout,
            @Nullable Fairness fairness) {

        /** Sets the configured options only: for the others, the store's own limits apply. */
        LockOptions set(LockOptions standard) {
            LockOptions options = standard;
            if (ttl != null) {
                options = options.ttl(ttl);
            }
            if (maxHold != null) {
                options = options.maxHold(maxHold);
            }
            if (nodeTimeout != null) {
                options = options.nodeTimeout(nodeTimeout);
            }
            return fairness == null ? options : options.fairness(fairness);
        }
    }

    /** Locks in a database of the application. */
    record Jdbc(@Nullable String datasource) {}

    /** Locks at the Redis of the application. */
    record Redis(@DefaultValue("false") boolean reuseConnectionFactory) {}

    /** The behaviour when the application stops. */
    record Shutdown(@DefaultValue("5s") Duration await) {}
}
