package io.leasehold.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.LockBusyException;
import io.leasehold.LockClient;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.retry.annotation.Backoff;
import org.springframework.retry.annotation.EnableRetry;
import org.springframework.retry.annotation.Retryable;

/** Tests of Spring Retry: its retries run outside of the lock if configured so, otherwise inside. */
@Tag("quick")
class RetryRecipeTest {

    @Configuration(proxyBeanMethods = false)
    @EnableRetry(order = Ordered.LOWEST_PRECEDENCE - 2000)
    static class RetriesOutside {}

    @Configuration(proxyBeanMethods = false)
    @EnableRetry
    static class RetriesInside {}

    static class Jobs {
        private final List<Long> tokens = new ArrayList<>();

        List<Long> tokens() {
            return tokens;
        }

        @Retryable(retryFor = IllegalArgumentException.class, maxAttempts = 3, backoff = @Backoff(1))
        @Locked(name = "job", maxWait = "0")
        public String failsTwice() {
            tokens.add(Locks.current().fencingToken());
            if (tokens.size() < 3) {
                throw new IllegalArgumentException("not yet");
            }
            return "ran";
        }

        @Retryable(retryFor = LockBusyException.class, maxAttempts = 3, backoff = @Backoff(1))
        @Locked(name = "busy", maxWait = "0")
        public String busy() {
            return "ran";
        }
    }

    @Test
    void eachTryAcquiresWhereRetriesAreOutside() throws InterruptedException {
        try (AnnotationConfigApplicationContext application =
                Application.of(MemoryLocks.class, RetriesOutside.class, Jobs.class)) {
            Jobs jobs = application.getBean(Jobs.class);
            assertThat(jobs.failsTwice()).isEqualTo("ran");
            assertThat(jobs.tokens()).hasSize(3).doesNotHaveDuplicates();
            try (Lease held =
                    application.getBean(LockClient.class).named("busy").acquire()) {
                assertThatThrownBy(jobs::busy).isInstanceOf(LockBusyException.class);
            }
            assertThat(jobs.busy()).isEqualTo("ran");
        }
    }

    @Test
    void allTriesShareOneLeaseWhereTheyAreInside() {
        try (AnnotationConfigApplicationContext application =
                Application.of(MemoryLocks.class, RetriesInside.class, Jobs.class)) {
            Jobs jobs = application.getBean(Jobs.class);
            assertThat(jobs.failsTwice()).isEqualTo("ran");
            assertThat(jobs.tokens()).hasSize(3).containsOnly(jobs.tokens().get(0));
        }
    }
}
