package io.leasehold.cdi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.cdi.Container.Application;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.spi.method.LeaseScope;
import io.leasehold.testkit.virtual.SteppedRuntime;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.context.Initialized;
import jakarta.enterprise.event.Observes;
import jakarta.enterprise.inject.Disposes;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Inject;
import jakarta.inject.Named;
import jakarta.inject.Qualifier;
import jakarta.inject.Singleton;
import jakarta.transaction.RollbackException;
import jakarta.transaction.Status;
import jakarta.transaction.Synchronization;
import jakarta.transaction.TransactionManager;
import jakarta.transaction.TransactionScoped;
import jakarta.transaction.Transactional;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests of locks around Jakarta's transactions, with Narayana, over a database in memory. */
@ParameterizedClass
@MethodSource("io.leasehold.cdi.Container#ofThisRun")
@Tag("quick")
class TransactionTest {

    private static Application application;
    private static int databases;

    private final LockClient locks = application.get(LockClient.class);
    private final Orders orders = application.get(Orders.class);
    private final TransactionManager manager = application.get(TransactionManager.class);
    private final Counter counter = new Counter(database());

    TransactionTest(Container container) throws Exception {
        assertThat(container).isNotNull(); // a test class that is parameterized takes its parameter
    }

    @BeforeParameterizedClassInvocation
    static void start(Container container) throws Exception {
        application =
                container.start(Jta.with(container, MemoryLocks.class, Orders.class, Begun.class, SteppedLocks.class));
    }

    @AfterParameterizedClassInvocation
    static void stop() {
        application.close();
    }

    @BeforeEach
    @AfterEach
    void noTransactionIsLeft() throws Exception {
        assertThat(manager.getStatus()).isEqualTo(Status.STATUS_NO_TRANSACTION);
        assertThat(isHeld()).isFalse();
    }

    private static JdbcDataSource database() {
        JdbcDataSource database = new JdbcDataSource();
        database.setURL("jdbc:h2:mem:cdi" + databases++ + ";DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=60000");
        return database;
    }

    @ApplicationScoped
    static class Orders {

        @Inject
        TransactionManager manager;

        @Locked(name = "order", maxWait = "1m")
        @Transactional
        public <T> T transactional(Callable<T> body) throws Exception {
            return body.call();
        }

        @Locked(name = "order", maxWait = "1m")
        public <T> T locked(Callable<T> body) throws Exception {
            return body.call();
        }

        @Locked(name = "order", maxWait = "1m", onLoss = OnLoss.NOTIFY)
        @Transactional
        public <T> T notified(Callable<T> body) throws Exception {
            return body.call();
        }

        @Locked(name = "stepped", client = "stepped", maxWait = "0", ttl = "30s", maxHold = "30s", commitGuard = "0")
        public <T> T unguarded(Callable<T> body) throws Exception {
            return body.call();
        }

        @Locked(name = "stepped", client = "stepped", maxWait = "0", ttl = "30s", maxHold = "30s", commitGuard = "5s")
        public <T> T guarded(Callable<T> body) throws Exception {
            return body.call();
        }

        @Locked(name = "{}", key = "names", maxWait = "0")
        public <T> T several(List<String> names, Callable<T> body) throws Exception {
            return body.call();
        }
    }

    @Qualifier
    @Retention(RetentionPolicy.RUNTIME)
    @interface Stepped {}

    /** Locks whose clock only the test moves. */
    @ApplicationScoped
    static class SteppedLocks {

        private final SteppedRuntime runtime = new SteppedRuntime(new SystemLockRuntime());

        @Produces
        @Singleton
        @Stepped
        @Named("stepped")
        LockClient stepped() {
            return Leasehold.builder().store("memory:").runtime(runtime).connect();
        }

        void close(@Disposes @Stepped @Named("stepped") LockClient stepped) {
            stepped.close();
        }

        void sleep(Duration by) {
            runtime.sleep(by);
        }
    }

    /** Observes each transaction when it has begun. */
    @ApplicationScoped
    static class Begun {

        private final List<String> under = new ArrayList<>();

        void begun(@Observes @Initialized(TransactionScoped.class) Object event) {
            LeaseScope scope = LeaseScope.current();
            under.add(scope == null ? "no lock" : scope.locks().toString());
        }

        List<String> under() {
            return under;
        }
    }

    private boolean isHeld() {
        return locks.admin().inspect("order").isPresent();
    }

    private Void increment() throws Exception {
        counter.write(counter.read() + 1);
        return null;
    }

    /** Loses the lease of the calling body; returns when the body was notified. */
    private void lose() throws InterruptedException {
        CountDownLatch told = new CountDownLatch(1);
        Locks.current().onLost(cause -> told.countDown());
        locks.admin().forceRelease("order", null);
        var unused = Locks.current().renewAsync();
        told.await();
    }

    @Test
    void theLockIsHeldUntilTheTransactionHasCompleted() throws Exception {
        List<String> seen = new ArrayList<>();
        orders.transactional(() -> {
            Jta.registry().registerInterposedSynchronization(new Synchronization() {
                @Override
                public void beforeCompletion() {
                    seen.add("before, held " + isHeld());
                }

                @Override
                public void afterCompletion(int status) {
                    seen.add("after, held " + isHeld() + ", committed " + (status == Status.STATUS_COMMITTED));
                }
            });
            return increment();
        });
        assertThat(seen).containsExactly("before, held true", "after, held true, committed true");
        assertThat(counter.value()).isEqualTo(1);
    }

    @Test
    void theLockIsTakenBeforeTheTransactionBegins() throws Exception {
        List<String> under = application.get(Begun.class).under();
        under.clear();
        orders.transactional(() -> null);
        manager.begin();
        manager.rollback();
        assertThat(under).containsExactly("[order]", "no lock");
    }

    @Test
    void noUpdateIsLost() throws Exception {
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            all.add(CompletableFuture.runAsync(() -> {
                for (int j = 0; j < 10; j++) {
                    assertThat(catchThrowable(() -> orders.transactional(this::increment)))
                            .isNull();
                }
            }));
        }
        CompletableFuture.allOf(all.toArray(CompletableFuture<?>[]::new)).get();
        assertThat(counter.value()).isEqualTo(40);
    }

    @Test
    void whatTheBodyThrowsRollsBackAndArrives() throws Exception {
        assertThatThrownBy(() -> orders.transactional(() -> {
                    increment();
                    throw new IllegalStateException("of the body");
                }))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("of the body");
        assertThat(counter.value()).isZero();
    }

    @Test
    void aLeaseThatWasLostIsRolledBack() throws Exception {
        assertThatThrownBy(() -> orders.notified(() -> {
                    increment();
                    lose();
                    return null;
                }))
                .isInstanceOf(LeaseLostException.class)
                .satisfies(lost -> assertThat(lost.getSuppressed()).hasExactlyElementsOfTypes(RollbackException.class));
        assertThat(counter.value()).isZero();
    }

    @Test
    void aLeaseThatTheBodyGaveBackIsRolledBack() throws Exception {
        assertThatThrownBy(() -> orders.transactional(() -> {
                    increment();
                    Locks.current().release();
                    return null;
                }))
                .isInstanceOf(RollbackException.class);
        assertThat(counter.value()).isZero();
    }

    @Test
    void aTransactionThatTheBodyBeginsIsGuardedToo() throws Exception {
        Throwable thrown = catchThrowable(() -> orders.locked(() -> {
            manager.begin();
            increment();
            Locks.current().release();
            manager.commit();
            return null;
        }));
        assertThat(thrown).isInstanceOf(RollbackException.class);
        assertThat(counter.value()).isZero();
    }

    @Test
    void aTransactionOfTheCallerKeepsTheLease() throws Exception {
        manager.begin();
        long first = orders.locked(() -> Locks.current().fencingToken());
        assertThat(isHeld()).isTrue();
        assertThat(orders.transactional(() -> {
                    increment();
                    return Locks.current().fencingToken();
                }))
                .isEqualTo(first);
        manager.commit();
        assertThat(isHeld()).isFalse();
        assertThat(counter.value()).isEqualTo(1);

        manager.begin();
        orders.locked(this::increment);
        manager.rollback();
        assertThat(counter.value()).isEqualTo(1);
    }

    @Test
    void aTransactionOfTheCallerWhoseLeaseWasLostIsRolledBack() throws Exception {
        manager.begin();
        assertThatThrownBy(() -> orders.locked(() -> {
                    increment();
                    locks.admin().forceRelease("order", null);
                    Locks.current()
                            .renewAsync()
                            .handle((renewed, error) -> null)
                            .join();
                    return null;
                }))
                .isInstanceOf(LeaseLostException.class);
        assertThatThrownBy(() -> orders.locked(this::increment)).isInstanceOf(LeaseLostException.class);
        assertThatThrownBy(manager::commit).isInstanceOf(RollbackException.class);
        assertThat(counter.value()).isZero();
    }

    @Test
    void aTransactionThatCanOnlyRollBackStillKeepsItsLease() throws Exception {
        manager.begin();
        long first = orders.locked(() -> Locks.current().fencingToken());
        manager.setRollbackOnly();
        assertThat(orders.<Long>locked(() -> Locks.current().fencingToken())).isEqualTo(first);
        assertThat(isHeld()).isTrue();
        for (int i = 0; i < 2; i++) {
            assertThat(orders.<Boolean>several(
                            List.of("other"),
                            () -> locks.admin().inspect("other").isPresent()))
                    .as("held in call %d", i)
                    .isTrue();
            assertThat(locks.admin().inspect("other")).isEmpty();
        }
        manager.rollback();
    }

    /** The lease has less left than the second call wants, and a renewal may not make it longer. */
    @Test
    void theLargestCommitGuardOfTheCallsThatShareALeaseHolds() throws Exception {
        manager.begin();
        orders.unguarded(this::increment);
        orders.guarded(() -> {
            application.get(SteppedLocks.class).sleep(Duration.ofSeconds(27));
            return null;
        });
        assertThatThrownBy(manager::commit).isInstanceOf(RollbackException.class);
        assertThat(counter.value()).isZero();
    }

    @Test
    void someOfTheLocksThatATransactionKeepsAreRefused() throws Exception {
        manager.begin();
        orders.locked(() -> null);
        assertThatThrownBy(() -> orders.several(List.of("order", "other"), () -> null))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("already holds some of them");
        manager.rollback();
    }

    /** The transaction manager completes it on another thread, while the body still writes. */
    @Test
    void aTransactionThatTimesOutDoesNotTakeTheLockFromTheBody() throws Exception {
        manager.setTransactionTimeout(1);
        manager.begin();
        CountDownLatch rolledBack = new CountDownLatch(1);
        orders.locked(() -> {
            Jta.registry().registerInterposedSynchronization(new Synchronization() {
                @Override
                public void beforeCompletion() {}

                @Override
                public void afterCompletion(int status) {
                    rolledBack.countDown();
                }
            });
            rolledBack.await();
            assertThat(isHeld()).isTrue();
            return null;
        });
        while (isHeld()) {
            Thread.onSpinWait(); // the thread of the manager tells one after the other
        }
        assertThat(manager.getStatus()).isNotEqualTo(Status.STATUS_ACTIVE);
        manager.rollback();
        manager.setTransactionTimeout(0);
    }
}
