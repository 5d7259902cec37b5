package io.leasehold.spring;

import io.leasehold.spi.method.LeaseScope;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.support.DefaultTransactionStatus;

/**
 * The open transactions of the calling thread. Those of some managers call no synchronizations, as those of Kafka, JMS
 * and RabbitMQ, and they suspend the synchronizations of transactions around them: a lease is registered here at all of
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

        List<KeptLease> kept() {
            return kept;
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

    /** A transaction of this manager has begun. */
    static void began(Object manager, TransactionExecution transaction) {
        if (!(transaction instanceof DefaultTransactionStatus status)) {
            return; // of a manager that is not Spring's; it is expected to call synchronizations
        }
        List<Open> open = OPEN.get();
        if (open == null) {
            open = new ArrayList<>();
            OPEN.set(open);
        }
        open.add(new Open(manager, status));
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
     * The transactions that a call of this thread takes part in and whose synchronizations it cannot use: of each manager
     * the newest, which suspends others. Empty if all of them call synchronizations.
     *
     * @param isSynchronized whether the synchronizations of the newest transaction that has any are active
     */
    static List<Open> current(boolean isSynchronized) {
        if (OPEN.get() == null) {
            return List.of();
        }
        removeIfEnded(null);
        List<Open> open = OPEN.get();
        if (open == null) {
            return List.of();
        }
        List<Open> newest = newest(open);
        if (newest.stream().allMatch(one -> one.transaction.isNewSynchronization())) {
            return List.of();
        }
        if (isSynchronized) {
            newest.stream()
                    .filter(one -> one.transaction.isNewSynchronization())
                    .findFirst()
                    .ifPresent(newest::remove);
        }
        return newest;
    }

    /** The newest of each manager, beginning with the newest of all. */
    private static List<Open> newest(List<Open> open) {
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
