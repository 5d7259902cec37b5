package io.leasehold.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.LockClient;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.transaction.ReactiveTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.reactive.AbstractReactiveTransactionManager;
import org.springframework.transaction.reactive.GenericReactiveTransaction;
import org.springframework.transaction.reactive.TransactionContextManager;
import org.springframework.transaction.reactive.TransactionSynchronizationManager;
import org.springframework.transaction.reactive.TransactionalOperator;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/** Tests of reactive transactions inside and outside of locked methods, with a manager that records its steps. */
@Tag("quick")
class ReactiveTransactionTest {

    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private final AnnotationConfigApplicationContext application =
            Application.of(MemoryLocks.class, Transactions.class, Accounts.class);
    private final LockClient locks = application.getBean(LockClient.class);
    private final Accounts accounts = application.getBean(Accounts.class);
    private final Done manager = application.getBean(Done.class);
    private final List<String> done = manager.list;
    private final TransactionalOperator own =
            TransactionalOperator.create(application.getBean(ReactiveTransactionManager.class));

    @AfterEach
    void close() {
        application.close();
    }

    @Configuration(proxyBeanMethods = false)
    @EnableTransactionManagement
    static class Transactions {
        @Bean
        Done done() {
            return new Done();
        }

        @Bean
        RecordingManager transactions(Done done) {
            return new RecordingManager(done);
        }
    }

    /** The steps of the manager, and the signal for which it waits before it ends a transaction. */
    static class Done {
        final List<String> list = new CopyOnWriteArrayList<>();
        volatile Mono<Void> beforeEnds = Mono.empty();

        /** Lets it wait, like a database that has not answered yet, and reports the start of the wait. */
        Sinks.Empty<Void> waits(CountDownLatch ending) {
            Sinks.Empty<Void> answer = Sinks.empty();
            beforeEnds = answer.asMono().doOnSubscribe(subscription -> ending.countDown());
            return answer;
        }
    }

    static class RecordingManager extends AbstractReactiveTransactionManager {

        private static final long serialVersionUID = 1L;

        private final transient Done done;

        RecordingManager(Done done) {
            this.done = done;
        }

        @Override
        public Object doGetTransaction(TransactionSynchronizationManager manager) {
            Object known = manager.getResource(this);
            return known == null ? new Object() : known;
        }

        @Override
        public boolean isExistingTransaction(Object transaction) {
            return false;
        }

        @Override
        public Mono<Void> doBegin(
                TransactionSynchronizationManager manager, Object transaction, TransactionDefinition definition) {
            return Mono.fromRunnable(() -> done.list.add("begin"));
        }

        @Override
        public Mono<Void> doCommit(TransactionSynchronizationManager manager, GenericReactiveTransaction status) {
            return done.beforeEnds.then(Mono.fromRunnable(() -> done.list.add("commit")));
        }

        @Override
        public Mono<Void> doRollback(TransactionSynchronizationManager manager, GenericReactiveTransaction status) {
            return done.beforeEnds.then(Mono.fromRunnable(() -> done.list.add("rollback")));
        }
    }

    static class Accounts {
        @Locked(name = "account", maxWait = "0", onLoss = OnLoss.NOTIFY)
        @Transactional
        public <T> Mono<T> pay(Mono<T> body) {
            return body;
        }

        @Locked(name = "another", maxWait = "0")
        @Transactional
        public <T> Mono<T> payAtAnother(Mono<T> body) {
            return body;
        }

        /** Requires more validity than the lease of an earlier call can have. */
        @Locked(name = "account", maxWait = "0", ttl = "2h", commitGuard = "1h")
        public <T> Mono<T> runWithLargeGuard(Mono<T> body) {
            return body;
        }

        @Locked(name = "account", maxWait = "0", onLoss = OnLoss.NOTIFY)
        public <T> Mono<T> run(Mono<T> body) {
            return body;
        }
    }

    private Mono<Boolean> lost() {
        return Mono.fromSupplier(() -> locks.admin().forceRelease("account", null));
    }

    private boolean isHeld() {
        return locks.admin().inspect("account").isPresent();
    }

    @Test
    void theLockIsReleasedAfterTheCommit() {
        assertThat(accounts.pay(Mono.fromSupplier(this::isHeld)).block(PATIENCE))
                .isTrue();
        assertThat(done).containsExactly("begin", "commit");
        assertThat(isHeld()).isFalse();
    }

    @Test
    void aTransactionWhoseLeaseIsLostIsRolledBack() {
        assertThatThrownBy(() -> accounts.pay(lost()).block(PATIENCE)).isInstanceOf(LeaseLostException.class);
        assertThat(done).containsExactly("begin", "rollback");
    }

    @Test
    void aProgrammaticTransactionInsideIsRolledBackToo() {
        assertThatThrownBy(() -> accounts.run(own.transactional(lost())).block(PATIENCE))
                .isInstanceOf(LeaseLostException.class);
        assertThat(done).containsExactly("begin", "rollback");
    }

    @Test
    void insideATransactionOfTheCallerTheLockIsKeptUntilThatHasCompleted() {
        Mono<Boolean> after = accounts.run(Mono.just("ran")).map(ran -> isHeld());
        assertThat(own.transactional(after).block(PATIENCE)).isTrue();
        assertThat(done).containsExactly("begin", "commit");
        assertThat(isHeld()).isFalse();
    }

    @Test
    void aTransactionOfTheCallerSharesTheLockThatItKeeps() {
        Mono<Long> token = accounts.run(ReactiveLocks.current().map(Lease::fencingToken));
        Mono<Boolean> same = token.flatMap(first -> token.map(first::equals));
        assertThat(own.transactional(same).block(PATIENCE)).isTrue();
        assertThat(done).containsExactly("begin", "commit");
        assertThat(isHeld()).isFalse();
    }

    @Test
    void aCallThatSharesTheLockBringsItsCommitGuard() {
        Mono<String> run = accounts.run(Mono.just("ran"));
        Mono<String> guarded = accounts.runWithLargeGuard(Mono.just("guarded"));
        assertThatThrownBy(() -> own.transactional(run.then(guarded).then(run)).block(PATIENCE))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("ensureValidFor(1h)");
        assertThat(own.transactional(guarded.then(run)).block(PATIENCE)).isEqualTo("ran");
        assertThat(done).containsExactly("begin", "rollback", "begin", "commit");
        assertThat(isHeld()).isFalse();
    }

    @Test
    void aCancelledTransactionOfTheCallerKeepsTheLockWhileABodyStillRuns() throws InterruptedException {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        Mono<Boolean> blocking = Mono.fromCallable(() -> {
            begun.countDown();
            while (goOn.getCount() > 0) {
                Thread.onSpinWait(); // hears of no interrupt
            }
            return true;
        });
        Mono<Boolean> first = accounts.run(Mono.just(true));
        Disposable running =
                own.transactional(first.then(accounts.run(blocking))).subscribe();
        assertThat(begun.await(5, TimeUnit.MINUTES)).isTrue();
        running.dispose();
        assertThat(done).containsExactly("begin", "rollback");
        try (Lease early = locks.named("account").tryAcquire(Duration.ofMillis(200))) {
            assertThat(early).isNull();
        } finally {
            goOn.countDown();
        }
        try (Lease free = locks.named("account").tryAcquire(PATIENCE)) {
            assertThat(free).isNotNull();
        }
    }

    @Test
    void aTransactionOfTheCallerIsRolledBackIfTheLeaseIsLostBeforeItsCommit() {
        assertThatThrownBy(
                        () -> own.transactional(accounts.run(Mono.just("ran")).then(lost()))
                                .block(PATIENCE))
                .isInstanceOf(LeaseLostException.class);
        assertThat(done).containsExactly("begin", "rollback");
    }

    private void assertHeldUntilAnswered(Sinks.Empty<Void> answer) throws InterruptedException {
        try (Lease early = locks.named("account").tryAcquire(Duration.ofMillis(200))) {
            assertThat(early).isNull();
        } finally {
            answer.emitEmpty(Sinks.EmitFailureHandler.FAIL_FAST);
        }
        try (Lease free = locks.named("account").tryAcquire(PATIENCE)) {
            assertThat(free).isNotNull();
        }
    }

    @Test
    void aCancellationDuringTheCommitKeepsTheLockUntilThatIsAnswered() throws InterruptedException {
        CountDownLatch ending = new CountDownLatch(1);
        Sinks.Empty<Void> answer = manager.waits(ending);
        Disposable running = accounts.pay(Mono.just("paid")).subscribe();
        assertThat(ending.await(5, TimeUnit.MINUTES)).isTrue();
        running.dispose();
        assertHeldUntilAnswered(answer);
        assertThat(done).containsExactly("begin", "commit");
    }

    /** Unlike the commit of an operator or an annotation, such a commit is part of the cancelled work. */
    @Test
    void aCancellationDuringACommitByHandKeepsTheLockUntilThatIsAnswered() throws InterruptedException {
        ReactiveTransactionManager transactions = application.getBean(ReactiveTransactionManager.class);
        CountDownLatch ending = new CountDownLatch(1);
        Sinks.Empty<Void> answer = manager.waits(ending);
        Mono<Void> byHand = transactions
                .getReactiveTransaction(TransactionDefinition.withDefaults())
                .flatMap(transactions::commit)
                .contextWrite(TransactionContextManager.getOrCreateContext())
                .contextWrite(TransactionContextManager.getOrCreateContextHolder());
        Disposable running = accounts.run(byHand).subscribe();
        assertThat(ending.await(5, TimeUnit.MINUTES)).isTrue();
        running.dispose();
        assertHeldUntilAnswered(answer);
        assertThat(done).containsExactly("begin", "commit");
    }

    @Test
    void aCancellationKeepsTheLockUntilTheRollbackIsAnswered() throws InterruptedException {
        CountDownLatch ending = new CountDownLatch(1);
        Sinks.Empty<Void> answer = manager.waits(ending);
        CountDownLatch begun = new CountDownLatch(1);
        Disposable running = accounts.pay(Mono.never().doOnSubscribe(subscription -> begun.countDown()))
                .subscribe();
        assertThat(begun.await(5, TimeUnit.MINUTES)).isTrue();
        running.dispose();
        assertThat(ending.await(5, TimeUnit.MINUTES)).isTrue();
        assertHeldUntilAnswered(answer);
        assertThat(done).containsExactly("begin", "rollback");
    }

    @Test
    void aCancellationKeepsTheLocksAroundTheInnermostToo() throws InterruptedException {
        CountDownLatch ending = new CountDownLatch(1);
        Sinks.Empty<Void> answer = manager.waits(ending);
        Disposable running =
                accounts.run(accounts.payAtAnother(Mono.just("paid"))).subscribe();
        assertThat(ending.await(5, TimeUnit.MINUTES)).isTrue();
        running.dispose();
        assertHeldUntilAnswered(answer);
        assertThat(done).containsExactly("begin", "commit");
    }
}
