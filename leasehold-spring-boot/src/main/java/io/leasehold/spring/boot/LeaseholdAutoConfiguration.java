package io.leasehold.spring.boot;

import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.spring.EnableLeasehold;
import io.leasehold.spring.LeaseholdSettings;
import io.leasehold.spring.LeaseholdTemplate;
import io.micrometer.observation.ObservationRegistry;
import java.time.Duration;
import java.util.Map;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.autoconfigure.condition.SearchStrategy;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.ImportRuntimeHints;
import org.springframework.core.env.Environment;

/** Configures clients of the configured or detected stores, {@code @Locked}, and an orderly shutdown. */
@AutoConfiguration(
        afterName = {
            "org.springframework.boot.autoconfigure.jdbc.DataSourceAutoConfiguration",
            "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration",
            "org.springframework.boot.autoconfigure.data.redis.RedisAutoConfiguration",
            "org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration"
        })
@EnableConfigurationProperties(LeaseholdProperties.class)
@Import(NamedClients.class)
@ImportRuntimeHints(LettuceStore.Hints.class)
public final class LeaseholdAutoConfiguration {

    LeaseholdAutoConfiguration() {}

    /** Enables {@code @Locked}, unless the application does so with attributes of its own. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnMissingBean(type = "io.leasehold.spring.LeaseholdConfiguration", search = SearchStrategy.CURRENT)
    @EnableLeasehold
    static class Enabled {

        Enabled() {}
    }

    @Bean
    @ConditionalOnMissingBean
    LeaseholdSettings leaseholdSettings(LeaseholdProperties properties) {
        LeaseholdSettings settings = LeaseholdSettings.defaults()
                .outerTransaction(properties.outerTransaction())
                .lint(properties.lint());
        Duration maxWait = properties.defaults().maxWait();
        if (maxWait != null) {
            settings = settings.maxWait(maxWait);
        }
        for (Map.Entry<String, LeaseholdProperties.Client> client :
                properties.clients().entrySet()) {
            Duration own = client.getValue().defaults().maxWait();
            if (own != null) {
                settings = settings.maxWait(client.getKey(), own);
            }
        }
        return settings;
    }

    @Bean
    ConfiguredClients leaseholdConfiguredClients(
            LeaseholdProperties properties,
            Environment environment,
            ObjectProvider<LockListener> listeners,
            ListableBeanFactory beans) {
        return new ConfiguredClients(properties, environment, listeners, beans);
    }

    @Bean
    @ConditionalOnMissingBean
    @Conditional(OnClientWithoutName.class)
    LockClient leaseholdClient(ConfiguredClients clients) {
        return clients.standard();
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
    LeaseholdShutdown leaseholdShutdown(ConfigurableListableBeanFactory beans, LeaseholdProperties properties) {
        return new LeaseholdShutdown(beans, properties.shutdown().await());
    }
}
