package io.leasehold.spring;

import io.leasehold.LeaseLostException;
import io.leasehold.spi.method.LeaseScope;
import org.jspecify.annotations.Nullable;
import org.springframework.core.Ordered;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.ClassUtils;

/** The transaction of the calling thread, where Spring's transactions are on the class path. */
final class ThreadTransactions {

    private static final boolean PRESENT = ClassUtils.isPresent(
            "org.springframework.transaction.support.TransactionSynchronizationManager",
            ThreadTransactions.class.getClassLoader());

    private ThreadTransactions() {}

    /** Whether a transaction is active, and has not completed: those that hear of its completion run when it has. */
    static boolean isActive() {
        return PRESENT && OfSpring.isActive();
    }

    /** The scope with just these locks that the active transaction keeps until it has completed, or null. */
    static @Nullable LeaseScope kept(LockCall call) {
        return OfSpring.kept(call);
    }

    /** The active transaction checks the lease before its commit, and gives it back when it has completed. */
    static void releaseAfterCompletion(LeaseScope scope) {
        OfSpring.releaseAfterCompletion(scope);
    }

    /** The active transaction, which keeps the lease already, checks it before its commit as this scope needs it, too. */
    static void checkToo(LeaseScope scope) {
        OfSpring.checkToo(scope);
    }

    /** A class of its own: without Spring's transactions it could not even be linked. */
    private static final class OfSpring {

        private OfSpring() {}

        static boolean isActive() {
            return TransactionSynchronizationManager.isActualTransactionActive()
                    && TransactionSynchronizationManager.isSynchronizationActive();
        }

        static @Nullable LeaseScope kept(LockCall call) {
            ReleasedWithTransaction kept = call.asked()
                    .keptAmong(
                            TransactionSynchronizationManager.getSynchronizations().stream()
                                    .filter(ReleasedWithTransaction.class::isInstance)
                                    .map(ReleasedWithTransaction.class::cast)
                                    .toList(),
                            ReleasedWithTransaction::scope);
            return kept == null ? null : kept.scope();
        }

        static void checkToo(LeaseScope scope) {
            boolean known = TransactionSynchronizationManager.getSynchronizations().stream()
                    .anyMatch(one -> one instanceof CheckedBeforeCommit check && scope.isCheckedBy(check.scope()));
            if (!known) {
                TransactionSynchronizationManager.registerSynchronization(new CheckedBeforeCommit(scope));
            }
        }

        static void releaseAfterCompletion(LeaseScope scope) {
            TransactionSynchronizationManager.registerSynchronization(new CheckedBeforeCommit(scope));
            TransactionSynchronizationManager.registerSynchronization(new ReleasedWithTransaction(scope));
        }
    }

    /** Last, so that what others write before the commit is written first. */
    private record CheckedBeforeCommit(LeaseScope scope) implements TransactionSynchronization {

        @Override
        public int getOrder() {
            return Ordered.LOWEST_PRECEDENCE;
        }

        /** @throws LeaseLostException if it was lost: the transaction is rolled back */
        @Override
        public void beforeCommit(boolean readOnly) {
            scope.checkCommit();
        }
    }

    /** First, so that others who hear of the completion can take the lock. */
    private record ReleasedWithTransaction(LeaseScope scope) implements TransactionSynchronization {

        @Override
        public int getOrder() {
            return Ordered.HIGHEST_PRECEDENCE;
        }

        @Override
        public void afterCompletion(int status) {
            scope.hold().close();
        }
    }
}
