package io.leasehold.spring.boot;

import io.leasehold.micrometer.LockMetrics;
import io.micrometer.core.instrument.MeterRegistry;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

/** Configures meters of all locks, if leasehold-micrometer and a registry are present. */
@AutoConfiguration(
        before = LeaseholdAutoConfiguration.class,
        afterName = {
            "org.springframework.boot.actuate.autoconfigure.metrics.CompositeMeterRegistryAutoConfiguration",
            "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration"
        })
@ConditionalOnClass({LockMetrics.class, MeterRegistry.class})
@ConditionalOnBean(MeterRegistry.class)
public final class LeaseholdMetricsAutoConfiguration {

    LeaseholdMetricsAutoConfiguration() {}

    @Bean
    @ConditionalOnMissingBean
    LockMetrics leaseholdMetrics(MeterRegistry registry) {
        return LockMetrics.of(registry);
    }
}
