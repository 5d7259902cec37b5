package io.leasehold.spring;

import io.leasehold.LockClient;
import io.micrometer.observation.ObservationRegistry;
import java.util.Arrays;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.springframework.beans.factory.BeanNotOfRequiredTypeException;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.beans.factory.NoUniqueBeanDefinitionException;

/**
 * The clients of the application, by the names of their beans, and what its settings say.
 *
 * <p>Any thread may use it.
 */
final class LockClients {

    private final ListableBeanFactory beans;

    /** By their naming, of which each method has one: a record would be compared by all that it says, with each call. */
    private final ConcurrentMap<LockNaming, MethodLocks> byMethod = new ConcurrentHashMap<>();

    LockClients(ListableBeanFactory beans) {
        this.beans = beans;
    }

    LeaseholdSettings settings() {
        return beans.getBeanProvider(LeaseholdSettings.class).getIfAvailable(LeaseholdSettings::defaults);
    }

    private ObservationRegistry observations() {
        ObservationRegistry registry =
                beans.getBeanProvider(ObservationRegistry.class).getIfUnique();
        return registry == null ? ObservationRegistry.NOOP : registry;
    }

    /** @throws LockedUsageException if the method asks for what its client cannot do, or for a client that is none */
    MethodLocks of(LockedMethod locked) {
        MethodLocks known = byMethod.get(locked.naming());
        if (known == null) {
            known = new MethodLocks(locked, client(locked), settings(), observations());
            byMethod.put(locked.naming(), known);
        }
        return known;
    }

    private LockClient client(LockedMethod locked) {
        String name = locked.client();
        try {
            return name.isEmpty() ? beans.getBean(LockClient.class) : beans.getBean(name, LockClient.class);
        } catch (NoUniqueBeanDefinitionException e) {
            throw LintFinding.refusal(
                    locked.method(),
                    "names no client, and there are several: " + e.getBeanNamesFound(),
                    "Write client = \"…\", or make one of them primary");
        } catch (NoSuchBeanDefinitionException | BeanNotOfRequiredTypeException e) {
            String[] names = beans.getBeanNamesForType(LockClient.class);
            throw names.length == 0
                    ? LintFinding.refusal(
                            locked.method(),
                            "has no place where locks come from: there is no bean of type io.leasehold.LockClient",
                            "Declare one: @Bean LockClient locks() { return Leasehold.connect(\"redis://…\"); }")
                    : LintFinding.refusal(
                            locked.method(),
                            "names the client \"" + name + "\", and no bean of type LockClient has that name",
                            "Name one of " + Arrays.toString(names) + ", or declare the one you mean");
        }
    }
}
