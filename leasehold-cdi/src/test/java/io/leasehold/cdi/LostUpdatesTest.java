package io.leasehold.cdi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.cdi.Container.Application;
import io.leasehold.servers.RedisServer;
import jakarta.annotation.Priority;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.inject.Inject;
import jakarta.interceptor.AroundInvoke;
import jakarta.interceptor.Interceptor;
import jakarta.interceptor.InterceptorBinding;
import jakarta.interceptor.InvocationContext;
import jakarta.transaction.Synchronization;
import jakarta.transaction.TransactionManager;
import jakarta.transaction.Transactional;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;
import org.postgresql.xa.PGXADataSource;

/**
 * Tests with threads that change one row of PostgreSQL by reading and writing it, without a lock on the row, under a
 * lock of Redis.
 */
@ParameterizedClass
@MethodSource("io.leasehold.cdi.Container#ofThisRun")
@Tag("full")
class LostUpdatesTest {

    private static final int THREADS = 8;
    private static final int TIMES = 25;

    private static RedisServer redis;
    private static PostgresServer postgres;
    private static Counter counter;
    private static Application application;

    LostUpdatesTest(Container container) {
        assertThat(container).isNotNull(); // a test class that is parameterized takes its parameter
    }

    @BeforeParameterizedClassInvocation
    static void start(Container container, @TempDir Path directory) throws Exception {
        postgres = PostgresServer.start(directory);
        redis = RedisServer.start();
        PGXADataSource database = new PGXADataSource();
        database.setUrl(postgres.url());
        counter = new Counter(database);
        System.setProperty("leasehold.uri", redis.uri());
        application = container.start(Jta.with(container, Orders.class, WrongOrders.class, LockInside.class));
    }

    @AfterParameterizedClassInvocation
    static void stop() throws Exception {
        if (application != null) {
            application.close();
            redis.close();
            postgres.close();
        }
        System.clearProperty("leasehold.uri");
    }

    @BeforeEach
    void fromZero() throws Exception {
        TransactionManager manager = application.get(TransactionManager.class);
        manager.begin();
        counter.write(0);
        manager.commit();
    }

    @ApplicationScoped
    static class Orders {

        @Locked(name = "counter", maxWait = "2m")
        @Transactional
        public void increment() throws Exception {
            counter.write(counter.read() + 1);
        }
    }

    /** The lock inside of the transaction, as an annotation of the usual priority would put it. */
    @InterceptorBinding
    @Retention(RetentionPolicy.RUNTIME)
    @Target({ElementType.METHOD, ElementType.TYPE})
    @interface LockedInside {}

    @LockedInside
    @Interceptor
    @Priority(Interceptor.Priority.LIBRARY_BEFORE)
    static class LockInside {

        @Inject
        LockClient locks;

        @AroundInvoke
        Object lock(InvocationContext invocation) throws Exception {
            try (Lease lease = locks.named("wrong").acquire()) {
                return invocation.proceed();
            }
        }
    }

    @ApplicationScoped
    static class WrongOrders {

        @LockedInside
        @Transactional
        public void increment(Runnable afterReading) throws Exception {
            int number = counter.read();
            afterReading.run();
            counter.write(number + 1);
        }
    }

    @Test
    void noUpdateIsLost() throws Exception {
        Orders orders = application.get(Orders.class);
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            all.add(CompletableFuture.runAsync(
                    () -> {
                        for (int j = 0; j < TIMES; j++) {
                            assertThat(catchThrowable(orders::increment)).isNull();
                        }
                    },
                    task -> new Thread(task).start()));
        }
        CompletableFuture.allOf(all.toArray(CompletableFuture<?>[]::new)).get();
        assertThat(counter.value()).isEqualTo(THREADS * TIMES);
    }

    /**
     * The control test: if no update were lost with the lock inside of the transaction, the test above would prove
     * nothing.
     */
    @Test
    void inTheWrongOrderAnUpdateIsLost() throws Exception {
        WrongOrders orders = application.get(WrongOrders.class);
        CountDownLatch committing = new CountDownLatch(1);
        CountDownLatch read = new CountDownLatch(1);
        CompletableFuture<Void> first = CompletableFuture.runAsync(() -> assertThat(catchThrowable(() ->
                        orders.increment(() -> Jta.registry().registerInterposedSynchronization(new Synchronization() {
                            @Override
                            public void beforeCompletion() {
                                committing.countDown();
                                await(read);
                            }

                            @Override
                            public void afterCompletion(int status) {}
                        }))))
                .isNull());
        await(committing);
        orders.increment(read::countDown);
        first.get(1, TimeUnit.MINUTES);
        assertThat(counter.value()).isEqualTo(1);
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(1, TimeUnit.MINUTES)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void anotherHolderAtTheStoreIsWaitedForAndTold() throws Exception {
        LockClient locks = application.get(LockClient.class);
        try (Lease held = locks.named("counter").acquire()) {
            CompletableFuture<Void> waiting = CompletableFuture.runAsync(
                    () -> assertThat(catchThrowable(application.get(Orders.class)::increment))
                            .isNull());
            assertThatThrownBy(() -> waiting.get(200, TimeUnit.MILLISECONDS))
                    .isInstanceOf(java.util.concurrent.TimeoutException.class);
            held.release();
            waiting.get(1, TimeUnit.MINUTES);
        }
        assertThat(counter.value()).isEqualTo(1);
    }
}
