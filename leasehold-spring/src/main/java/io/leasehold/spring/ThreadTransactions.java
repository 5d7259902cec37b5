package io.leasehold.spring;

import io.leasehold.LeaseLostException;
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

    static boolean isActive() {
        return PRESENT && OfSpring.isActive();
    }

    /**
     * The active transaction checks the lease before its commit, and gives it back when it has completed.
     *
     * @throws IllegalStateException if its manager synchronizes nothing
     */
    static void releaseAfterCompletion(LeaseScope scope) {
        OfSpring.releaseAfterCompletion(scope);
    }

    /** A class of its own: without Spring's transactions it could not even be linked. */
    private static final class OfSpring {

        private OfSpring() {}

        static boolean isActive() {
            return TransactionSynchronizationManager.isActualTransactionActive();
        }

        static void releaseAfterCompletion(LeaseScope scope) {
            if (!TransactionSynchronizationManager.isSynchronizationActive()) {
                throw new IllegalStateException(
                        "the transaction of the caller cannot be told to release a lock when it has completed: its"
                                + " manager has transactionSynchronization = NEVER. Lock outside the transaction");
            }
            TransactionSynchronizationManager.registerSynchronization(new ReleasedWithTransaction(scope));
        }
    }

    /** Last, so that what others write before the commit is written first. */
    private record ReleasedWithTransaction(LeaseScope scope) implements TransactionSynchronization {

        @Override
        public int getOrder() {
            return Ordered.LOWEST_PRECEDENCE;
        }

        /** @throws LeaseLostException if it was lost: the transaction is rolled back */
        @Override
        public void beforeCommit(boolean readOnly) {
            scope.checkCommit();
        }

        @Override
        public void afterCompletion(int status) {
            scope.hold().close();
        }
    }
}
