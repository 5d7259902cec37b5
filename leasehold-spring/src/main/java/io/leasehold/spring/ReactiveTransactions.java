package io.leasehold.spring;

import io.leasehold.spi.method.LeaseScope;
import java.util.List;
import org.springframework.core.Ordered;
import org.springframework.transaction.NoTransactionException;
import org.springframework.transaction.reactive.TransactionSynchronization;
import org.springframework.transaction.reactive.TransactionSynchronizationManager;
import org.springframework.util.ClassUtils;
import reactor.core.publisher.Mono;

/** The transaction of a subscription, where Spring's transactions are on the class path. */
final class ReactiveTransactions {

    private static final boolean PRESENT = ClassUtils.isPresent(
            "org.springframework.transaction.reactive.TransactionSynchronizationManager",
            ReactiveTransactions.class.getClassLoader());

    private ReactiveTransactions() {}

    static Mono<Boolean> isActive() {
        return PRESENT ? OfSpring.isActive() : Mono.just(false);
    }

    /** The scope with just these locks that the active transaction keeps until it has completed. */
    static Mono<HeldScope> kept(LockCall call) {
        return OfSpring.kept(call);
    }

    /** The active transaction checks the lease before its commit, and gives it back when it has completed. */
    static Mono<Void> releaseAfterCompletion(HeldScope held) {
        return OfSpring.releaseAfterCompletion(held);
    }

    /** The active transaction, which keeps the lease already, checks it before its commit as this scope needs it, too. */
    static Mono<Void> checkToo(LeaseScope scope) {
        return OfSpring.checkToo(scope);
    }

    /** A class of its own: without Spring's transactions it could not even be linked. */
    private static final class OfSpring {

        private OfSpring() {}

        static Mono<Boolean> isActive() {
            return TransactionSynchronizationManager.forCurrentTransaction()
                    .map(transaction ->
                            transaction.isActualTransactionActive() && transaction.isSynchronizationActive())
                    .onErrorResume(NoTransactionException.class, none -> Mono.just(false));
        }

        static Mono<HeldScope> kept(LockCall call) {
            return TransactionSynchronizationManager.forCurrentTransaction().mapNotNull(transaction -> {
                List<HeldScope> all = transaction.getSynchronizations().stream()
                        .filter(ReleasedWithTransaction.class::isInstance)
                        .map(one -> ((ReleasedWithTransaction) one).kept())
                        .toList();
                return call.asked().keptAmong(all, HeldScope::scope);
            });
        }

        static Mono<Void> checkToo(LeaseScope scope) {
            return TransactionSynchronizationManager.forCurrentTransaction()
                    .doOnNext(transaction -> {
                        boolean known = transaction.getSynchronizations().stream()
                                .anyMatch(one ->
                                        one instanceof CheckedBeforeCommit check && scope.isCheckedBy(check.scope()));
                        if (!known) {
                            transaction.registerSynchronization(new CheckedBeforeCommit(scope));
                        }
                    })
                    .then();
        }

        static Mono<Void> releaseAfterCompletion(HeldScope held) {
            return TransactionSynchronizationManager.forCurrentTransaction()
                    .doOnNext(transaction -> {
                        transaction.registerSynchronization(new CheckedBeforeCommit(held.scope()));
                        transaction.registerSynchronization(new ReleasedWithTransaction(held));
                    })
                    .then();
        }
    }

    /** Last, so that what others write before the commit is written first. */
    private record CheckedBeforeCommit(LeaseScope scope) implements TransactionSynchronization, Ordered {

        @Override
        public int getOrder() {
            return LOWEST_PRECEDENCE;
        }

        @Override
        public Mono<Void> beforeCommit(boolean readOnly) {
            return Mono.defer(() -> Mono.fromFuture(scope.checkCommitAsync()));
        }
    }

    /** First, so that others who hear of the completion can take the lock. */
    private record ReleasedWithTransaction(HeldScope kept) implements TransactionSynchronization, Ordered {

        @Override
        public int getOrder() {
            return HIGHEST_PRECEDENCE;
        }

        @Override
        public Mono<Void> afterCompletion(int status) {
            return Mono.defer(() -> Mono.fromFuture(kept.held().releaseOnceLeft(), true))
                    .then();
        }
    }
}
