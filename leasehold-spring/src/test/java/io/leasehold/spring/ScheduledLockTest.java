package io.leasehold.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.LockClient;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import reactor.core.publisher.Mono;

/** Tests of locks together with {@code @Scheduled} and {@code @Async}. */
@Tag("quick")
class ScheduledLockTest {

    @Configuration(proxyBeanMethods = false)
    @EnableScheduling
    @EnableAsync
    static class Jobs {

        final CountDownLatch ran = new CountDownLatch(3);
        final CountDownLatch reactive = new CountDownLatch(3);
        final AtomicInteger unlocked = new AtomicInteger();

        @Locked(name = "job")
        @Scheduled(fixedDelay = 5)
        public void run() {
            if (!Locks.current().isValid()) {
                unlocked.incrementAndGet();
            }
            ran.countDown();
        }

        @Locked(name = "reactive-job")
        @Scheduled(fixedDelay = 5)
        public Mono<Void> runReactive() {
            return ReactiveLocks.current()
                    .doOnNext(lease -> reactive.countDown())
                    .then();
        }

        @Locked(name = "skipped")
        @Scheduled(fixedDelay = 60_000, initialDelay = 60_000)
        public String skipped() {
            return "ran";
        }

        @Locked(name = "twice")
        @Scheduled(fixedDelay = 60_000, initialDelay = 60_000)
        @Scheduled(fixedDelay = 50_000, initialDelay = 60_000)
        public String scheduledTwice() {
            return "ran";
        }

        @Async
        @Locked(name = "async", maxWait = "0")
        public CompletableFuture<String> async() {
            return CompletableFuture.completedFuture(Locks.current().lockName().text());
        }

        void await() throws InterruptedException {
            assertThat(ran.await(1, TimeUnit.MINUTES)).isTrue();
            assertThat(reactive.await(1, TimeUnit.MINUTES)).isTrue();
            assertThat(unlocked).hasValue(0);
        }
    }

    @Test
    void aJobIsSkippedWhereItsLockIsBusyAndRunsWhereItIsNot() throws Exception {
        try (AnnotationConfigApplicationContext application = Application.of(MemoryLocks.class, Jobs.class)) {
            Jobs jobs = application.getBean(Jobs.class);
            jobs.await();
            LockClient locks = application.getBean(LockClient.class);
            try (Lease held = locks.named("skipped").acquire()) {
                assertThat(jobs.skipped()).isNull();
            }
            assertThat(jobs.skipped()).isEqualTo("ran");
            try (Lease held = locks.named("twice").acquire()) {
                assertThat(jobs.scheduledTwice()).isNull();
            }
        }
    }

    @Test
    void theLockIsTakenWhereTheMethodRuns() throws Exception {
        try (AnnotationConfigApplicationContext application = Application.of(MemoryLocks.class, Jobs.class)) {
            assertThat(application.getBean(Jobs.class).async().get(1, TimeUnit.MINUTES))
                    .isEqualTo("async");
            try (Lease held =
                    application.getBean(LockClient.class).named("async").acquire()) {
                assertThatThrownBy(() -> application.getBean(Jobs.class).async().get(1, TimeUnit.MINUTES))
                        .hasMessageContaining("\"async\" is busy");
            }
        }
    }
}
