package io.leasehold.cdi;

import io.leasehold.spi.method.AskedLocks;
import io.leasehold.spi.method.LeaseScope;
import jakarta.enterprise.inject.Instance;
import jakarta.transaction.Status;
import jakarta.transaction.Synchronization;
import jakarta.transaction.TransactionSynchronizationRegistry;
import java.util.ArrayList;
import java.util.List;
import javax.naming.InitialContext;
import javax.naming.NamingException;
import org.jspecify.annotations.Nullable;

/** The transactions of Jakarta Transactions. */
final class JtaTransactions implements Transactions {

    private static final String NAME = "java:comp/TransactionSynchronizationRegistry";

    private final TransactionSynchronizationRegistry registry;

    private JtaTransactions(TransactionSynchronizationRegistry registry) {
        this.registry = registry;
    }

    /** Those of the container: by its bean, or by the name that Jakarta EE gives them; none where it has neither. */
    @SuppressWarnings("BanJNDI") // a fixed name of the container's own
    static Transactions of(Instance<Object> beans) {
        Instance<TransactionSynchronizationRegistry> registries =
                beans.select(TransactionSynchronizationRegistry.class);
        if (registries.isResolvable()) {
            return new JtaTransactions(registries.get());
        }
        try {
            return new JtaTransactions(InitialContext.doLookup(NAME));
        } catch (NamingException e) {
            return NONE;
        }
    }

    @Override
    public boolean isActive() {
        return registry.getTransactionStatus() == Status.STATUS_ACTIVE || canOnlyRollBack();
    }

    private boolean canOnlyRollBack() {
        return registry.getTransactionStatus() == Status.STATUS_MARKED_ROLLBACK;
    }

    @Override
    public @Nullable KeptLease kept(AskedLocks asked) {
        return asked.keptAmong(leases(), KeptLease::scope);
    }

    @SuppressWarnings("unchecked") // no other has this key
    private List<KeptLease> leases() {
        List<KeptLease> leases = (List<KeptLease>) registry.getResource(KeptLease.class);
        return leases == null ? List.of() : leases;
    }

    @Override
    public boolean keep(KeptLease lease) {
        List<KeptLease> all = new ArrayList<>(leases());
        all.add(lease);
        if (!registered(new Check(lease.scope(), lease))) {
            return false;
        }
        registry.putResource(KeptLease.class, all);
        return true;
    }

    @Override
    public void guard(LeaseScope scope) {
        registered(new Check(scope, null));
    }

    /** False where nothing is checked any more: before a rollback. */
    private boolean registered(Check check) {
        try {
            registry.registerInterposedSynchronization(check);
            return true;
        } catch (RuntimeException e) {
            if (canOnlyRollBack()) {
                return false;
            }
            throw e;
        }
    }

    /** After the synchronizations of others have written what they write before the commit. */
    private final class Check implements Synchronization {

        private final LeaseScope scope;
        private final @Nullable KeptLease kept;

        Check(LeaseScope scope, @Nullable KeptLease kept) {
            this.scope = scope;
            this.kept = kept;
        }

        @Override
        public void beforeCompletion() {
            try {
                scope.checkCommit();
            } catch (RuntimeException e) {
                LOG.atWarn().log("a transaction under {} is rolled back: {}", scope.locks(), e.getMessage());
                registry.setRollbackOnly();
                throw e;
            }
        }

        @Override
        public void afterCompletion(int status) {
            if (kept != null) {
                kept.leave();
            }
        }
    }
}
