package io.leasehold.spring;

import io.leasehold.spi.method.LeaseScope;
import org.jspecify.annotations.Nullable;
import org.springframework.core.Ordered;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.ClassUtils;

/** The transaction of the calling thread, if Spring's transactions are on the class path. */
final class ThreadTransactions {

    private static final boolean PRESENT = ClassUtils.isPresent(
            "org.springframework.transaction.support.TransactionSynchronizationManager",
            ThreadTransactions.class.getClassLoader());

    private ThreadTransactions() {}

    /** Whether a transaction is active and has not completed; callbacks after completion run when it has completed. */
    static boolean isActive() {
        return PRESENT && OfSpring.isActive();
    }

    /** The scope with exactly these locks that the active transaction keeps until it completes, or null. */
    static @Nullable LeaseScope kept(LockCall call) {
        return OfSpring.kept(call);
    }

    /**
     * Registers the lease at the active transaction, which checks it before its commit and releases it after its
     * completion.
     */
    static void releaseAfterCompletion(LeaseScope scope) {
        OfSpring.releaseAfterCompletion(scope);
    }

    /** Registers the check of this scope at the active transaction, which already keeps the lease. */
    static void checkToo(LeaseScope scope) {
        OfSpring.checkToo(scope);
    }

    /** A separate class, since it cannot be linked without Spring's transactions. */
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

    /** Runs last, so that other callbacks have written their data before it. */
    private record CheckedBeforeCommit(LeaseScope scope) implements TransactionSynchronization {

        @Override
        public int getOrder() {
            return Ordered.LOWEST_PRECEDENCE;
        }

        /**
         * Checks the lease.
         *
         * @throws LeaseLostException if it was lost: the transaction is rolled back
         */
        @Override
        public void beforeCommit(boolean readOnly) {
            scope.checkCommit();
        }
    }

    /** Runs first, so that other callbacks after completion can acquire the lock. */
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
