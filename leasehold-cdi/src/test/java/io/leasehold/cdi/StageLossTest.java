package io.leasehold.cdi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LossCause;
import io.leasehold.cdi.Container.Application;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.testkit.virtual.PassingStore;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.inject.Disposes;
import jakarta.enterprise.inject.Produces;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests of losses that a body that returns a stage does not notice: before it begins, and when it ends. */
@ParameterizedClass
@MethodSource("io.leasehold.cdi.Container#ofThisRun")
@Tag("quick")
@Timeout(120)
class StageLossTest {

    /** The work that waits for a thread. */
    private static final BlockingQueue<Runnable> QUEUED = new LinkedBlockingQueue<>();

    private static volatile CountDownLatch lost = new CountDownLatch(1);
    private static volatile boolean forgets;
    private static Application application;

    private final LockClient locks = application.get(LockClient.class);
    private final Orders orders = application.get(Orders.class);

    StageLossTest(Container container) {
        assertThat(container).isNotNull(); // a test class that is parameterized takes its parameter
    }

    @BeforeParameterizedClassInvocation
    static void start(Container container) throws Exception {
        application = container.start(SlowLocks.class, Orders.class);
    }

    @AfterParameterizedClassInvocation
    static void close() {
        application.close();
    }

    @BeforeEach
    void reset() {
        QUEUED.clear();
        lost = new CountDownLatch(1);
        forgets = false;
        orders.reset();
    }

    /** A client whose work begins when the test says so, at a store that loses locks without a signal. */
    @ApplicationScoped
    static class SlowLocks {

        @Produces
        @ApplicationScoped
        LockClient locks() {
            LockListener listener = new LockListener() {
                @Override
                public void lost(Lost event) {
                    lost.countDown();
                }
            };
            return Leasehold.builder()
                    .store(runtime -> forgetful(new SingleNodeStore(new InMemoryNode(runtime), runtime)))
                    .workExecutor(QUEUED::add)
                    .listener(listener)
                    .connect();
        }

        void close(@Disposes LockClient locks) {
            locks.close();
        }

        private static LockStore forgetful(LockStore store) {
            return new PassingStore(store) {
                @Override
                public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
                    return forgets
                            ? super.release(request).thenApply(released -> new ReleaseReply.NotOurs(List.of()))
                            : super.release(request);
                }
            };
        }
    }

    @ApplicationScoped
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

        void reset() {
            runs.set(0);
        }
    }

    private static void runQueued() throws InterruptedException {
        Objects.requireNonNull(QUEUED.poll(1, TimeUnit.MINUTES), "work").run();
    }

    @Test
    void aLossThatOnlyTheReleaseFindsIsTold() throws Exception {
        forgets = true;
        CompletableFuture<String> paid = orders.pay();
        runQueued();
        assertThatThrownBy(() -> paid.get(1, TimeUnit.MINUTES))
                .cause()
                .isInstanceOfSatisfying(LeaseLostException.class, told -> {
                    assertThat(told.lockName().text()).isEqualTo("order");
                    assertThat(told.lossCause()).isEqualTo(LossCause.NOT_OURS);
                });
        assertThat(orders.runs()).isOne();
    }

    @Test
    void aBodyWhoseLeaseIsLostWhileItWaitsForItsThreadDoesNotBegin() throws Exception {
        CompletableFuture<String> paid = orders.pay();
        while (QUEUED.isEmpty()) {
            Thread.onSpinWait();
        }
        locks.admin().forceRelease("order", null);
        assertThat(lost.await(1, TimeUnit.MINUTES)).isTrue();
        runQueued();
        assertThatThrownBy(() -> paid.get(1, TimeUnit.MINUTES)).hasCauseInstanceOf(LeaseLostException.class);
        assertThat(orders.runs()).isZero();
    }
}
