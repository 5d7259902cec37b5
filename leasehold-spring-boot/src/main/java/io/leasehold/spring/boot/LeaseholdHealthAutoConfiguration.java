package io.leasehold.spring.boot;

import io.leasehold.LockClient;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Configures the health contributor {@code leasehold} for the version of Boot that is present. */
@AutoConfiguration(after = LeaseholdAutoConfiguration.class)
@ConditionalOnBean(LeaseStatus.class)
public final class LeaseholdHealthAutoConfiguration {

    LeaseholdHealthAutoConfiguration() {}

    /** The contributor for Boot 3. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = "org.springframework.boot.actuate.health.HealthIndicator")
    @org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator("leasehold")
    static class OfBoot3 {
        @Bean
        @ConditionalOnMissingBean(name = "leaseholdHealthIndicator")
        org.springframework.boot.actuate.health.HealthIndicator leaseholdHealthIndicator(
                ObjectProvider<LockClient> clients, LeaseStatus status, ConfiguredClients configured) {
            LeaseholdHealth health = new LeaseholdHealth(clients, status, configured);
            return () -> org.springframework.boot.actuate.health.Health.status(health.code())
                    .withDetails(health.details())
                    .build();
        }
    }

    /** The contributor for Boot 4, in which the interface has moved. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = "org.springframework.boot.health.contributor.HealthIndicator")
    @org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator("leasehold")
    static class OfBoot4 {
        @Bean
        @ConditionalOnMissingBean(name = "leaseholdHealthIndicator")
        org.springframework.boot.health.contributor.HealthIndicator leaseholdHealthIndicator(
                ObjectProvider<LockClient> clients, LeaseStatus status, ConfiguredClients configured) {
            LeaseholdHealth health = new LeaseholdHealth(clients, status, configured);
            return () -> org.springframework.boot.health.contributor.Health.status(health.code())
                    .withDetails(health.details())
                    .build();
        }
    }
}
