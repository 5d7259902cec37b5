package io.leasehold.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LossCause;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.testkit.virtual.PassingStore;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Tests of losses that a body that returns a stage does not notice: before it begins, and when it ends. */
@Tag("quick")
@Timeout(120)
class StageLossTest {

    private final AnnotationConfigApplicationContext application = Application.of(SlowLocks.class, Orders.class);
    private final SlowLocks slow = application.getBean(SlowLocks.class);
    private final Orders orders = application.getBean(Orders.class);

    @AfterEach
    void close() {
        application.close();
    }

    /** A client whose work begins when the test says so, at a store that loses locks without a signal. */
    @Configuration(proxyBeanMethods = false)
    @EnableLeasehold
    static class SlowLocks {

        private final BlockingQueue<Runnable> queued = new LinkedBlockingQueue<>();
        private final CountDownLatch lost = new CountDownLatch(1);
        private volatile boolean forgets;

        @Bean
        LockClient locks() {
            LockListener listener = new LockListener() {
                @Override
                public void lost(Lost event) {
                    lost.countDown();
                }
            };
            return Leasehold.builder()
                    .store(runtime -> forgetful(new SingleNodeStore(new InMemoryNode(runtime), runtime)))
                    .workExecutor(queued::add)
                    .listener(listener)
                    .connect();
        }

        private LockStore forgetful(LockStore store) {
            return new PassingStore(store) {
                @Override
                public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
                    return forgets
                            ? super.release(request).thenApply(released -> new ReleaseReply.NotOurs(List.of()))
                            : super.release(request);
                }
            };
        }

        void runQueued() throws InterruptedException {
            Objects.requireNonNull(queued.poll(1, TimeUnit.MINUTES), "work").run();
        }
    }

    static class Orders {

        private final AtomicInteger runs = new AtomicInteger();

        @Locked(name = "order", maxWait = "0")
        public CompletableFuture<String> pay() {
            runs.incrementAndGet();
            return CompletableFuture.completedFuture("paid");
        }

        int runs() {
            return runs.get();
        }
    }

    @Test
    void aLossThatOnlyTheReleaseFindsIsTold() throws Exception {
        slow.forgets = true;
        CompletableFuture<String> paid = orders.pay();
        slow.runQueued();
        assertThatThrownBy(() -> paid.get(1, TimeUnit.MINUTES))
                .cause()
                .isInstanceOfSatisfying(LeaseLostException.class, lost -> {
                    assertThat(lost.lockName().text()).isEqualTo("order");
                    assertThat(lost.lossCause()).isEqualTo(LossCause.NOT_OURS);
                });
        assertThat(orders.runs()).isOne();
    }

    @Test
    void aBodyWhoseLeaseIsLostWhileItWaitsForItsThreadDoesNotBegin() throws Exception {
        CompletableFuture<String> paid = orders.pay();
        while (slow.queued.isEmpty()) {
            Thread.onSpinWait();
        }
        application.getBean(LockClient.class).admin().forceRelease("order", null);
        assertThat(slow.lost.await(1, TimeUnit.MINUTES)).isTrue();
        slow.runQueued();
        assertThatThrownBy(() -> paid.get(1, TimeUnit.MINUTES)).hasCauseInstanceOf(LeaseLostException.class);
        assertThat(orders.runs()).isZero();
    }

    @Test
    void aCancelledCallReleasesTheLockBeforeItsThreadIsFree() throws Exception {
        CompletableFuture<String> paid = orders.pay();
        while (slow.queued.isEmpty()) {
            Thread.onSpinWait();
        }
        paid.cancel(false);
        LockClient locks = application.getBean(LockClient.class);
        try (Lease free = locks.named("order").tryAcquire(Duration.ofSeconds(30))) {
            assertThat(free).isNotNull();
        }
        slow.runQueued();
        assertThat(orders.runs()).isZero();
    }
}
