package io.leasehold.spring.boot;

import io.leasehold.LockClient;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

/** Configures the endpoint, if Actuator is present and exposes it. */
@AutoConfiguration(after = LeaseholdAutoConfiguration.class)
@ConditionalOnClass(
        name = "org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint")
@ConditionalOnBean(LeaseStatus.class)
public final class LeaseholdEndpointAutoConfiguration {

    LeaseholdEndpointAutoConfiguration() {}

    @Bean
    @ConditionalOnMissingBean
    @ConditionalOnAvailableEndpoint
    LeaseholdEndpoint leaseholdEndpoint(
            ObjectProvider<LockClient> clients, LeaseStatus status, ConfiguredClients configured) {
        return new LeaseholdEndpoint(clients, status, configured);
    }
}
