package io.leasehold.spring;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
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

    /** Counts the leases that the client holds and renews. */
    static class Counting implements LockListener {

        private static final Duration PATIENCE = Duration.ofMinutes(1);

        private int held;
        private int givenUp;

        /** Waits until no lease is held: an event may come later than the answer to the caller. */
        synchronized void assertNoneHeld() throws InterruptedException {
            long end = System.nanoTime() + PATIENCE.toNanos();
            while (held != 0 && end - System.nanoTime() > 0) {
                TimeUnit.NANOSECONDS.timedWait(this, end - System.nanoTime());
            }
            assertThat(held).isZero();
        }

        /** Waits until callers have given up this number of attempts. */
        synchronized void awaitGivenUp(int attempts) throws InterruptedException {
            long end = System.nanoTime() + PATIENCE.toNanos();
            while (givenUp < attempts && end - System.nanoTime() > 0) {
                TimeUnit.NANOSECONDS.timedWait(this, end - System.nanoTime());
            }
            assertThat(givenUp).isEqualTo(attempts);
        }

        private synchronized void count(int change) {
            held += change;
            notifyAll();
        }

        private synchronized void countGivenUp() {
            givenUp++;
            notifyAll();
        }

        @Override
        public void attemptEnded(AttemptEnded event) {
            if (event.outcome() == AttemptOutcome.ACQUIRED) {
                count(1);
            } else if (event.outcome() == AttemptOutcome.INTERRUPTED) {
                countGivenUp();
            }
        }

        @Override
        public void lost(Lost event) {
            count(-1);
        }

        @Override
        public void released(Released event) {
            count(-1);
        }
    }
}
