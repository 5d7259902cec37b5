package io.leasehold.spring;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import java.util.concurrent.atomic.AtomicInteger;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Locks in the memory of this process. */
@Configuration(proxyBeanMethods = false)
@EnableLeasehold
class MemoryLocks {

    @Bean
    Counting counting() {
        return new Counting();
    }

    @Bean
    LockClient locks(Counting counting) {
        return Leasehold.builder().store("memory:").listener(counting).connect();
    }

    /** How many leases the client holds, and renews. */
    static class Counting implements LockListener {

        private final AtomicInteger held = new AtomicInteger();

        int held() {
            return held.get();
        }

        @Override
        public void attemptEnded(AttemptEnded event) {
            if (event.outcome() == AttemptOutcome.ACQUIRED) {
                held.incrementAndGet();
            }
        }

        @Override
        public void lost(Lost event) {
            held.decrementAndGet();
        }

        @Override
        public void released(Released event) {
            held.decrementAndGet();
        }
    }
}
