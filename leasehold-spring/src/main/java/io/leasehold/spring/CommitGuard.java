package io.leasehold.spring;

import io.leasehold.spi.method.LeaseScope;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;

/**
 * Prevents a transaction of a locked body from committing if its lease has ended: an exception before the commit makes
 * the manager roll back. It sees every commit of a manager, including those of programmatic transactions, and reports
 * which transactions are open.
 */
final class CommitGuard implements TransactionExecutionListener {

    @Override
    public void beforeCommit(TransactionExecution transaction) {
        LeaseScope scope = InheritedScope.current();
        if (scope != null) {
            scope.checkCommit();
        }
        OpenTransactions.beforeCommit(transaction);
    }

    @Override
    public void afterBegin(TransactionExecution transaction, @Nullable Throwable beginFailure) {
        if (beginFailure == null) {
            OpenTransactions.began(this, transaction);
        }
    }

    @Override
    public void afterCommit(TransactionExecution transaction, @Nullable Throwable commitFailure) {
        OpenTransactions.ended(transaction);
    }

    @Override
    public void afterRollback(TransactionExecution transaction, @Nullable Throwable rollbackFailure) {
        OpenTransactions.ended(transaction);
    }
}
