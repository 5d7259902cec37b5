package io.leasehold.spi;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.engine.LazyStore;
import io.leasehold.spi.toolkit.PermitsByLocks;
import java.lang.reflect.Method;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A class that passes operations on to another object overrides every default method: otherwise, an operation that the
 * other one has is answered as if it had none.
 */
@Tag("quick")
final class DelegatesTest {

    private static void overridesAll(Class<?> delegate, Class<?> of) throws NoSuchMethodException {
        assertThat(of).isAssignableFrom(delegate);
        for (Method method : of.getMethods()) {
            if (method.isDefault()) {
                assertThat(delegate.getMethod(method.getName(), method.getParameterTypes())
                                .getDeclaringClass()
                                .isInterface())
                        .as("%s inherits %s", delegate, method)
                        .isFalse();
            }
        }
    }

    @Test
    void theStoresThatPassOperationsOn() throws Exception {
        overridesAll(PassingKeeper.class, LockKeeper.class);
        overridesAll(PermitsByLocks.class, LockStore.class);
        overridesAll(LazyStore.class, LockStore.class);
    }

    @Test
    void whatTheyShowToOperators() throws Exception {
        overridesAll(Class.forName("io.leasehold.spi.toolkit.SlotAdmin"), StoreAdmin.class);
        overridesAll(Class.forName("io.leasehold.engine.LazyStore$Unopened"), StoreAdmin.class);
    }
}
