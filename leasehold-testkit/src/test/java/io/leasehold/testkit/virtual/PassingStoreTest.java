package io.leasehold.testkit.virtual;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.spi.LockStore;
import java.lang.reflect.Method;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A {@link PassingStore} passes on every operation, also those that a store need not have. */
@Tag("quick")
final class PassingStoreTest {

    @Test
    void everyDefaultMethodIsPassedOn() throws Exception {
        for (Method method : LockStore.class.getMethods()) {
            if (method.isDefault()) {
                assertThat(PassingStore.class
                                .getMethod(method.getName(), method.getParameterTypes())
                                .getDeclaringClass()
                                .isInterface())
                        .as("it inherits %s", method)
                        .isFalse();
            }
        }
    }
}
