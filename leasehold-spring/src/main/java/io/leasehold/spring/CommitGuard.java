package io.leasehold.spring;

import io.leasehold.spi.method.LeaseScope;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;

/**
 * Lets no transaction of a locked body commit whose lease is over: what is thrown before the commit makes the manager roll back. Hears of
 * every commit of a manager, also of programmatic transactions.
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
