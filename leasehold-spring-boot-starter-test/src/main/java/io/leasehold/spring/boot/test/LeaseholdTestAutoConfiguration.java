package io.leasehold.spring.boot.test;

import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.spring.boot.LeaseholdAutoConfiguration;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Primary;

/** Replaces the application's clients by in-memory clients. */
@AutoConfiguration(before = LeaseholdAutoConfiguration.class)
final class LeaseholdTestAutoConfiguration {

    LeaseholdTestAutoConfiguration() {}

    @Bean
    LockFaults lockFaults(ObjectProvider<LockListener> listeners) {
        return new LockFaults(listeners.orderedStream().toList());
    }

    @Bean
    @Primary
    LockClient lockClientInMemory(LockFaults faults) {
        return faults.client();
    }

    /** Runs after the application's definitions have been read, and before any bean is created. */
    @Bean
    static BeanFactoryPostProcessor namedClientsInMemory() {
        return beans -> {
            for (String name : beans.getBeanDefinitionNames()) {
                BeanDefinition definition = beans.getBeanDefinition(name);
                if ("leaseholdConfiguredClients".equals(definition.getFactoryBeanName())) {
                    definition.setFactoryBeanName("lockFaults");
                    definition.setFactoryMethodName("clientAt");
                }
            }
        };
    }
}
