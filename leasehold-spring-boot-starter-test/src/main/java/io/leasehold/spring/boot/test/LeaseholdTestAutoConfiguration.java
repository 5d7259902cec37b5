package io.leasehold.spring.boot.test;

import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.spring.boot.LeaseholdAutoConfiguration;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Primary;

/** A client in memory in place of the application's. */
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
}
