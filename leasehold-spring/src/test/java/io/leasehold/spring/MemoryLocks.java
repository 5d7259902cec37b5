package io.leasehold.spring;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Locks in the memory of this process. */
@Configuration(proxyBeanMethods = false)
@EnableLeasehold
class MemoryLocks {

    @Bean
    LockClient locks() {
        return Leasehold.connect("memory:");
    }
}
