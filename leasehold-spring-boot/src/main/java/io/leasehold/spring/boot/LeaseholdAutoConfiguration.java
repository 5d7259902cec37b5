package io.leasehold.spring.boot;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockOptions;
import io.leasehold.LockStoreException;
import io.leasehold.spring.EnableLeasehold;
import io.leasehold.spring.LeaseholdSettings;
import io.leasehold.spring.LeaseholdTemplate;
import io.micrometer.observation.ObservationRegistry;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;

/** A client of the store that is set or found, {@code @Locked}, and an orderly end. */
@AutoConfiguration(
        afterName = {
            "org.springframework.boot.autoconfigure.jdbc.DataSourceAutoConfiguration",
            "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration",
            "org.springframework.boot.autoconfigure.data.redis.RedisAutoConfiguration",
            "org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration"
        })
@EnableConfigurationProperties(LeaseholdProperties.class)
@EnableLeasehold
public final class LeaseholdAutoConfiguration {

    LeaseholdAutoConfiguration() {}

    @Bean
    @ConditionalOnMissingBean
    LeaseholdSettings leaseholdSettings(LeaseholdProperties properties) {
        LeaseholdSettings settings = LeaseholdSettings.defaults()
                .outerTransaction(properties.outerTransaction())
                .lint(properties.lint());
        Duration maxWait = properties.defaults().maxWait();
        return maxWait == null ? settings : settings.maxWait(maxWait);
    }

    @Bean
    @ConditionalOnMissingBean
    LockClient leaseholdClient(
            LeaseholdProperties properties,
            Environment environment,
            ObjectProvider<LockListener> listeners,
            ListableBeanFactory beans) {
        Leasehold.Builder builder = Leasehold.builder().label(label(properties, environment));
        new StoreOfApplication(properties, beans).nameTo(builder);
        LockOptions options = defaults(properties);
        if (options != null) {
            builder.defaults(options);
        }
        properties.require().levels().forEach(builder::require);
        listeners.orderedStream().forEach(builder::listener);
        try {
            return properties.connectLazily() ? builder.connectLazily() : builder.connect();
        } catch (IllegalArgumentException e) {
            throw new NoLockStoreException(
                    "The place for locks cannot be used: " + e.getMessage(), "Change leasehold.uri", e);
        } catch (LockStoreException e) {
            throw new NoLockStoreException(
                    "The place for locks cannot be used: " + e.getMessage(),
                    "Start it, let this application reach it, or change leasehold.uri and leasehold.require",
                    e);
        }
    }

    private static @Nullable LockOptions defaults(LeaseholdProperties properties) {
        try {
            return properties.defaults().options();
        } catch (IllegalArgumentException e) {
            throw new NoLockStoreException(
                    "The properties leasehold.defaults.* do not go together: " + e.getMessage(),
                    "Change what the message names",
                    e);
        }
    }

    private static String label(LeaseholdProperties properties, Environment environment) {
        String label = properties.label();
        String name = label != null ? label : environment.getProperty("spring.application.name", "");
        String plain = name.replaceAll("[^A-Za-z0-9._-]", "-");
        return plain.substring(0, Math.min(plain.length(), 64));
    }

    @Bean
    @ConditionalOnMissingBean
    @ConditionalOnSingleCandidate(LockClient.class)
    LeaseholdTemplate leaseholdTemplate(
            LockClient client, LeaseholdSettings settings, ObjectProvider<ObservationRegistry> observations) {
        ObservationRegistry registry = observations.getIfUnique();
        return new LeaseholdTemplate(client, settings)
                .observedBy(registry == null ? ObservationRegistry.NOOP : registry);
    }

    @Bean
    LeaseStatus leaseholdStatus() {
        return new LeaseStatus();
    }

    @Bean
    LeaseEvents leaseholdEvents(ApplicationEventPublisher publisher) {
        return new LeaseEvents(publisher);
    }

    @Bean
    LeaseholdShutdown leaseholdShutdown(ObjectProvider<LockClient> clients, LeaseholdProperties properties) {
        return new LeaseholdShutdown(clients, properties.shutdown().await());
    }
}
