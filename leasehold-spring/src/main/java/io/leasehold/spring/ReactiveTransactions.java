package io.leasehold.spring;

import io.leasehold.spi.method.LeaseScope;
import java.util.List;
import org.springframework.core.Ordered;
import org.springframework.transaction.NoTransactionException;
import org.springframework.transaction.reactive.TransactionSynchronization;
import org.springframework.transaction.reactive.TransactionSynchronizationManager;
import org.springframework.util.ClassUtils;
import reactor.core.publisher.Mono;

/** The transaction of a subscription, if Spring's transactions are on the class path. */
final class ReactiveTransactions {

    private static final boolean PRESENT = ClassUtils.isPresent(
            "org.springframework.transaction.reactive.TransactionSynchronizationManager",
            ReactiveTransactions.class.getClassLoader());

    private ReactiveTransactions() {}

    static Mono<Boolean> isActive() {
        return PRESENT ? OfSpring.isActive() : Mono.just(false);
    }

    /** The scope with exactly these locks that the active transaction keeps until it completes. */
    static Mono<HeldScope> kept(LockCall call) {
        return OfSpring.kept(call);
    }

    /**
     * Registers the lease at the active transaction, which checks it before its commit and releases it after its
     * completion.
     */
    static Mono<Void> releaseAfterCompletion(HeldScope held) {
        return OfSpring.releaseAfterCompletion(held);
    }

    /** Registers the check of this scope at the active transaction, which already keeps the lease. */
    static Mono<Void> checkToo(LeaseScope scope) {
        return OfSpring.checkToo(scope);
    }

    /** A separate class, since it cannot be linked without Spring's transactions. */
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

    /** Runs last, so that other callbacks have written their data before it. */
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

    /** Runs first, so that other callbacks after completion can acquire the lock. */
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
