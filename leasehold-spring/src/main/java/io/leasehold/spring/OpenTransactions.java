package io.leasehold.spring;

import io.leasehold.spi.method.LeaseScope;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.core.Ordered;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.support.DefaultTransactionStatus;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * The open transactions of the calling thread. Those of some managers call no synchronizations, as those of Kafka, JMS
 * and RabbitMQ, and each suspends the synchronizations of transactions around it: a lease is registered here at all of
 * these.
 */
final class OpenTransactions {

    /** Those of a thread in the order of their beginning; null if there is none. */
    private static final ThreadLocal<@Nullable List<Open>> OPEN = new ThreadLocal<>();

    private OpenTransactions() {}

    /** An open transaction. Only its thread uses it. */
    static final class Open {

        private final Object manager;
        private final DefaultTransactionStatus transaction;
        private final List<LeaseScope> checked = new ArrayList<>();
        private final List<KeptLease> kept = new ArrayList<>();

        private Open(Object manager, DefaultTransactionStatus transaction) {
            this.manager = manager;
            this.transaction = transaction;
        }

        void keep(KeptLease lease) {
            kept.add(lease);
        }

        /** Checks this scope before the commit, unless the check of another one covers it. */
        void check(LeaseScope scope) {
            if (checked.stream().noneMatch(scope::isCheckedBy)) {
                checked.add(scope);
            }
        }
    }

    /**
     * Reports the end of a transaction before all other callbacks after completion, so that these can acquire the lock;
     * the manager reports it after them.
     */
    private record EndOf(Open open) implements TransactionSynchronization {

        @Override
        public int getOrder() {
            return Ordered.HIGHEST_PRECEDENCE;
        }

        @Override
        public void afterCompletion(int status) {
            ended(open.transaction);
        }
    }

    /** A transaction of this manager has begun. */
    static void began(Object manager, TransactionExecution transaction) {
        if (!(transaction instanceof DefaultTransactionStatus status)) {
            return; // of a manager that is not Spring's; it is expected to call synchronizations
        }
        removeIfEnded(null);
        List<Open> open = OPEN.get();
        if (open == null) {
            open = new ArrayList<>();
            OPEN.set(open);
        }
        Open begun = new Open(manager, status);
        open.add(begun);
        if (status.isNewSynchronization()) {
            TransactionSynchronizationManager.registerSynchronization(new EndOf(begun));
        }
    }

    /**
     * Checks the leases that a transaction keeps, before its commit.
     *
     * @throws io.leasehold.LeaseLostException if one was lost: the transaction is rolled back
     */
    static void beforeCommit(TransactionExecution transaction) {
        List<Open> open = OPEN.get();
        if (open != null) {
            open.stream()
                    .filter(one -> one.transaction == transaction)
                    .flatMap(one -> one.checked.stream())
                    .forEach(LeaseScope::checkCommit);
        }
    }

    /** A transaction has been committed or rolled back. */
    static void ended(TransactionExecution transaction) {
        removeIfEnded(transaction);
    }

    /**
     * The transactions that keep a lease of this thread: of each manager the newest, which suspends others. If all of them
     * call synchronizations, only the one whose synchronizations are active: others may be suspended.
     *
     * @param synchronizedOne the one whose synchronizations are active, or null
     */
    static List<Open> current(@Nullable Open synchronizedOne) {
        List<Open> newest = newest();
        if (newest.stream().allMatch(one -> one.transaction.isNewSynchronization())) {
            return synchronizedOne == null ? List.of() : List.of(synchronizedOne);
        }
        return newest;
    }

    /** The leases that open transactions keep, also those whose synchronizations are suspended. */
    static List<KeptLease> kept() {
        return newest().stream().flatMap(one -> one.kept.stream()).toList();
    }

    /** The transaction whose synchronizations are active; null if its manager does not report it. */
    static @Nullable Open synchronizedOne() {
        return TransactionSynchronizationManager.getSynchronizations().stream()
                .filter(EndOf.class::isInstance)
                .map(one -> ((EndOf) one).open())
                .findFirst()
                .orElse(null);
    }

    /** The newest of each manager, beginning with the newest of all. */
    private static List<Open> newest() {
        if (OPEN.get() == null) {
            return List.of();
        }
        removeIfEnded(null);
        List<Open> open = OPEN.get();
        if (open == null) {
            return List.of();
        }
        List<Open> newest = new ArrayList<>();
        Set<Object> managers = new HashSet<>();
        for (int i = open.size() - 1; i >= 0; i--) {
            if (managers.add(open.get(i).manager)) {
                newest.add(open.get(i));
            }
        }
        return newest;
    }

    /** Removes a transaction, and those whose end Spring has not reported because their commit failed. */
    private static void removeIfEnded(@Nullable TransactionExecution transaction) {
        List<Open> open = OPEN.get();
        if (open == null) {
            return;
        }
        List<Open> ended = open.stream()
                .filter(one -> one.transaction == transaction || one.transaction.isCompleted())
                .toList();
        open.removeAll(ended);
        if (open.isEmpty()) {
            OPEN.remove();
        }
        ended.forEach(one -> one.kept.forEach(KeptLease::completed));
    }
}
