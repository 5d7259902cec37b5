package io.leasehold.spring.boot.test;

import io.leasehold.LockListener;
import io.leasehold.spring.boot.LeaseholdAutoConfiguration;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;

/** Replaces the application's clients by in-memory clients. */
@AutoConfiguration(before = LeaseholdAutoConfiguration.class)
final class LeaseholdTestAutoConfiguration {

    LeaseholdTestAutoConfiguration() {}

    @Bean(destroyMethod = "close")
    LockFaults lockFaults(ObjectProvider<LockListener> listeners, Environment environment) {
        return new LockFaults(listeners.orderedStream().toList(), TestDefaults.in(environment));
    }

    @Bean
    static ClientsInMemory leaseholdClientsInMemory() {
        return new ClientsInMemory();
    }
}
