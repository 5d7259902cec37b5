package io.leasehold.spring;

import io.leasehold.spi.method.LeaseScope;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;

/**
 * Prevents a transaction of a locked body from committing if its lease has ended: an exception before the commit makes
 * the manager roll back. It sees every commit of a manager, including those of programmatic transactions.
 */
final class CommitGuard implements TransactionExecutionListener {

    @Override
    public void beforeCommit(TransactionExecution transaction) {
        LeaseScope scope = InheritedScope.current();
        if (scope != null) {
            scope.checkCommit();
        }
    }
}
