package io.leasehold;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.slf4j.MDC;
import org.slf4j.RealMdc;

/** Tests of the log context of a lock: it exists in the thread that uses the lock, in no other, and no longer. */
@Tag("quick")
final class LogContextTest {

    private final RealMdc mdc = new RealMdc();
    private final LockClient client = Leasehold.connect("memory:");

    @AfterEach
    void close() {
        client.close();
        assertThat(context()).as("what is left behind").isEqualTo("null null");
        mdc.close();
    }

    private static String context() {
        return MDC.get("lock") + " " + MDC.get("fencingToken");
    }

    private static String of(Lease lease) {
        return lease.lockName() + " " + lease.fencingToken();
    }

    @Test
    void nestedOnesBringBackTheOuterValues() throws InterruptedException {
        MDC.put("lock", "of the application");
        try (Lease outer = client.named("outer").acquire();
                LogContext context = LogContext.of(outer)) {
            assertThat(context()).isEqualTo(of(outer));
            try (Lease inner = client.named("inner").acquire();
                    LogContext nested = LogContext.of(inner)) {
                assertThat(context()).isEqualTo(of(inner));
                nested.close();
                assertThat(context()).isEqualTo(of(outer));
            }
            assertThat(context()).as("closed twice").isEqualTo(of(outer));
        }
        assertThat(context()).isEqualTo("of the application null");
        MDC.remove("lock");
    }

    @Test
    void aLossLeavesNothingBehind() throws InterruptedException {
        try (Lease lease = client.named("n").acquire();
                LogContext context = LogContext.of(lease)) {
            client.admin().forceRelease("n", null);
            assertThat(lease.isValid()).isFalse();
            assertThat(context()).as("the section continues to its end").isEqualTo(of(lease));
        }
        assertThat(context()).isEqualTo("null null");
    }

    @Test
    void eachThreadHasItsOwn() throws Exception {
        ExecutorService pool = Executors.newSingleThreadExecutor();
        // A thread that starts inside a context inherits it, if the log output supports that.
        pool.submit(() -> {}).get(30, TimeUnit.SECONDS);
        try (Lease lease = client.named("n").acquire();
                LogContext context = LogContext.of(lease)) {
            assertThat(pool.submit(LogContextTest::context).get(30, TimeUnit.SECONDS))
                    .isEqualTo("null null");
            assertThat(pool.submit(LogContext.around(lease, LogContextTest::context))
                            .get(30, TimeUnit.SECONDS))
                    .isEqualTo(of(lease));
            assertThatThrownBy(() -> pool.submit(context::close).get(30, TimeUnit.SECONDS))
                    .hasRootCauseInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("open one in each thread");
            assertThat(pool.submit(LogContextTest::context).get(30, TimeUnit.SECONDS))
                    .isEqualTo("null null");
            assertThat(context()).isEqualTo(of(lease));
        } finally {
            pool.shutdown();
        }
    }

    @Test
    void workOfHoldWhileHasItWhileItRuns() throws Exception {
        List<String> seen = new ArrayList<>();
        ExecutorService pool = Executors.newSingleThreadExecutor();
        try (LockClient here =
                Leasehold.builder().store("memory:").workExecutor(pool).connect()) {
            String token = here.named("n")
                    .holdWhile(Duration.ofSeconds(30), LogContext.around(lease -> {
                        seen.add(context());
                        return CompletableFuture.completedFuture(of(lease));
                    }))
                    .get(30, TimeUnit.SECONDS);
            assertThat(seen).containsExactly(token);
            assertThatThrownBy(() -> here.named("n")
                            .holdWhile(Duration.ofSeconds(30), LogContext.<CompletableFuture<String>>around(lease -> {
                                throw new IllegalStateException("failed");
                            }))
                            .get(30, TimeUnit.SECONDS))
                    .hasMessageContaining("failed");
            assertThat(pool.submit(LogContextTest::context).get(30, TimeUnit.SECONDS))
                    .isEqualTo("null null");
        } finally {
            pool.shutdown();
        }
    }

    @Test
    void severalLocksAndViewsHaveOneToo() throws InterruptedException {
        try (MultiLease both = client.all("b", "a").acquire();
                LogContext context = LogContext.of(both)) {
            assertThat(context()).isEqualTo("a,b " + both.fencingToken("a") + "," + both.fencingToken("b"));
        }
        ReentrantLockView view = client.named("n").asReentrantLock();
        view.lock();
        try (LogContext context = LogContext.of(LockName.exactly("n"), view.fencingToken())) {
            assertThat(context()).isEqualTo("n " + view.fencingToken());
        } finally {
            view.unlock();
        }
    }
}
