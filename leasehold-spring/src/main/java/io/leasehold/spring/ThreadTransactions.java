package io.leasehold.spring;

import io.leasehold.spi.method.LeaseScope;
import java.util.ArrayList;
import java.util.List;
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
     * completion; if there are several, each checks it, and the last one releases it.
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
            return isSynchronized() || !current().isEmpty();
        }

        /** Those that report their end. */
        private static List<OpenTransactions.Open> current() {
            return OpenTransactions.current(isSynchronized() ? OpenTransactions.synchronizedOne() : null);
        }

        private static boolean isSynchronized() {
            return TransactionSynchronizationManager.isActualTransactionActive()
                    && TransactionSynchronizationManager.isSynchronizationActive();
        }

        /** Whether only synchronizations report the end of the transaction, as if its manager is not a bean. */
        private static boolean isUnreported() {
            return isSynchronized() && OpenTransactions.synchronizedOne() == null;
        }

        static @Nullable LeaseScope kept(LockCall call) {
            List<KeptLease> all = new ArrayList<>(OpenTransactions.kept());
            if (isSynchronized()) {
                TransactionSynchronizationManager.getSynchronizations().stream()
                        .filter(ReleasedWithTransaction.class::isInstance)
                        .map(one -> ((ReleasedWithTransaction) one).lease())
                        .forEach(all::add);
            }
            KeptLease kept = call.asked().keptAmong(all, KeptLease::scope);
            return kept == null ? null : kept.scope();
        }

        static void checkToo(LeaseScope scope) {
            current().forEach(open -> open.check(scope));
            if (isUnreported()) {
                checkSynchronized(scope);
            }
        }

        private static void checkSynchronized(LeaseScope scope) {
            boolean known = TransactionSynchronizationManager.getSynchronizations().stream()
                    .anyMatch(one -> one instanceof CheckedBeforeCommit check && scope.isCheckedBy(check.scope()));
            if (!known) {
                TransactionSynchronizationManager.registerSynchronization(new CheckedBeforeCommit(scope));
            }
        }

        static void releaseAfterCompletion(LeaseScope scope) {
            List<OpenTransactions.Open> current = current();
            // Without any, this fails if the transaction has disappeared meanwhile: nothing would release the lease.
            boolean registered = current.isEmpty() || isUnreported();
            KeptLease lease = new KeptLease(scope, current.size() + (registered ? 1 : 0));
            if (registered) {
                TransactionSynchronizationManager.registerSynchronization(new CheckedBeforeCommit(scope));
                TransactionSynchronizationManager.registerSynchronization(new ReleasedWithTransaction(lease));
            }
            current.forEach(open -> {
                open.check(scope);
                open.keep(lease);
            });
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
    private record ReleasedWithTransaction(KeptLease lease) implements TransactionSynchronization {

        @Override
        public int getOrder() {
            return Ordered.HIGHEST_PRECEDENCE;
        }

        @Override
        public void afterCompletion(int status) {
            lease.completed();
        }
    }
}
