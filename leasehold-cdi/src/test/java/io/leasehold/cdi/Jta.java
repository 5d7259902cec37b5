package io.leasehold.cdi;

import com.arjuna.ats.arjuna.common.ObjectStoreEnvironmentBean;
import com.arjuna.ats.internal.arjuna.objectstore.VolatileStore;
import com.arjuna.ats.jta.common.jtaPropertyManager;
import com.arjuna.common.internal.util.propertyservice.BeanPopulator;
import jakarta.transaction.TransactionManager;
import jakarta.transaction.TransactionSynchronizationRegistry;
import jakarta.transaction.Transactional;
import java.util.stream.Stream;

/** Narayana, the transaction manager of WildFly and Quarkus. */
final class Jta {

    static {
        // Nothing must survive the tests; all of its stores would be folders next to the sources.
        for (String store : new String[] {null, "communicationStore", "stateStore"}) {
            BeanPopulator.getNamedInstance(ObjectStoreEnvironmentBean.class, store)
                    .setObjectStoreType(VolatileStore.class.getName());
        }
    }

    private Jta() {}

    /** The beans that an application needs for {@code @Transactional} in a container. */
    static Class<?>[] with(Container container, Class<?>... beans) {
        return switch (container) {
            case WELD -> beans; // Narayana's own interceptors, which it adds by an extension
            case ARC ->
                Stream.concat(
                                Stream.of(beans),
                                Stream.of(Transactional.class, JtaInterceptor.class, JtaInterceptor.Producers.class))
                        .toArray(Class<?>[]::new);
        };
    }

    static TransactionManager manager() {
        return com.arjuna.ats.jta.TransactionManager.transactionManager();
    }

    static TransactionSynchronizationRegistry registry() {
        return jtaPropertyManager.getJTAEnvironmentBean().getTransactionSynchronizationRegistry();
    }
}
