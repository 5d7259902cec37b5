package io.leasehold.cdi;

import io.quarkus.arc.Unremovable;
import jakarta.annotation.Priority;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.context.Initialized;
import jakarta.enterprise.event.Event;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import jakarta.interceptor.AroundInvoke;
import jakarta.interceptor.Interceptor;
import jakarta.interceptor.InvocationContext;
import jakarta.transaction.HeuristicMixedException;
import jakarta.transaction.HeuristicRollbackException;
import jakarta.transaction.InvalidTransactionException;
import jakarta.transaction.NotSupportedException;
import jakarta.transaction.RollbackException;
import jakarta.transaction.Status;
import jakarta.transaction.SystemException;
import jakarta.transaction.Transaction;
import jakarta.transaction.TransactionManager;
import jakarta.transaction.TransactionScoped;
import jakarta.transaction.TransactionSynchronizationRegistry;
import jakarta.transaction.Transactional;

/**
 * The interceptor of {@code @Transactional} for containers without Narayana's own interceptor, which knows only Weld.
 * It has the same priority, and fires the event that Quarkus fires when it has begun a transaction.
 */
@Transactional
@Interceptor
@Priority(Interceptor.Priority.PLATFORM_BEFORE + 200)
class JtaInterceptor {

    @Inject
    TransactionManager manager;

    @AroundInvoke
    Object run(InvocationContext invocation) throws Exception {
        if (manager.getStatus() != Status.STATUS_NO_TRANSACTION) {
            return invocation.proceed();
        }
        manager.begin();
        Object result;
        try {
            result = invocation.proceed();
        } catch (Throwable e) {
            manager.rollback();
            throw e;
        }
        manager.commit();
        return result;
    }

    /** The beans that the extension of a server produces. */
    @ApplicationScoped
    static class Producers {

        @Inject
        @Initialized(TransactionScoped.class)
        Event<Transaction> begun;

        @Produces
        @Singleton
        @Unremovable
        TransactionManager manager() {
            return new TellingManager(Jta.manager(), begun);
        }

        @Produces
        @Singleton
        @Unremovable
        TransactionSynchronizationRegistry registry() {
            return Jta.registry();
        }
    }

    /** Fires the event of a begin. */
    private record TellingManager(TransactionManager manager, Event<Transaction> begun) implements TransactionManager {

        @Override
        public void begin() throws NotSupportedException, SystemException {
            manager.begin();
            begun.fire(manager.getTransaction());
        }

        @Override
        public void commit()
                throws RollbackException, HeuristicMixedException, HeuristicRollbackException, SystemException {
            manager.commit();
        }

        @Override
        public void rollback() throws SystemException {
            manager.rollback();
        }

        @Override
        public int getStatus() throws SystemException {
            return manager.getStatus();
        }

        @Override
        public Transaction getTransaction() throws SystemException {
            return manager.getTransaction();
        }

        @Override
        public void resume(Transaction transaction) throws InvalidTransactionException, SystemException {
            manager.resume(transaction);
        }

        @Override
        public Transaction suspend() throws SystemException {
            return manager.suspend();
        }

        @Override
        public void setRollbackOnly() throws SystemException {
            manager.setRollbackOnly();
        }

        @Override
        public void setTransactionTimeout(int seconds) throws SystemException {
            manager.setTransactionTimeout(seconds);
        }
    }
}
