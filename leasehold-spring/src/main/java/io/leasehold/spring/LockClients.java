package io.leasehold.spring;

import io.leasehold.LockClient;
import io.micrometer.observation.ObservationRegistry;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.BeanNotOfRequiredTypeException;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.beans.factory.NoUniqueBeanDefinitionException;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.AbstractBeanDefinition;

/**
 * The clients of the application, by the names of their beans, and its settings.
 *
 * <p>Any thread may use it.
 */
final class LockClients {

    private final ListableBeanFactory beans;

    /**
     * The locks by their naming, which is unique to each method: a record as the key would be compared field by field
     * at each call.
     */
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

    /**
     * Finds the locks of a method.
     *
     * @throws LockedUsageException if its client does not exist, or does not support its options
     */
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
            if (!name.isEmpty()) {
                return beans.getBean(name, LockClient.class);
            }
            refuseOneWithAName(locked);
            return beans.getBean(LockClient.class);
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
                            "has no client: there is no bean of type io.leasehold.LockClient",
                            "Declare one: @Bean LockClient locks() { return Leasehold.connect(\"redis://…\"); }")
                    : LintFinding.refusal(
                            locked.method(),
                            "names the client \"" + name + "\", and no bean of type LockClient has that name",
                            "Name one of " + Arrays.toString(names) + ", or declare a client of that name");
        }
    }

    /**
     * Refuses a bean that is not a default candidate, which Spring would inject if there is no other. A replica with
     * other settings, and thus another client, would lock elsewhere.
     */
    private void refuseOneWithAName(LockedMethod locked) {
        BeanFactory from = beans;
        while (from instanceof ConfigurableListableBeanFactory nearest) {
            List<String> chosen = toChooseFrom(nearest);
            if (chosen.size() == 1 && !isDefault(nearest, chosen.get(0))) {
                String name = chosen.get(0);
                throw LintFinding.refusal(
                        locked.method(),
                        "names no client, and the only one is that of the bean \"" + name
                                + "\", which is not a default candidate",
                        "Write client = \"" + name
                                + "\", or declare a client that is a default candidate (with Spring Boot: set leasehold.uri)");
            }
            from = chosen.isEmpty() ? nearest.getParentBeanFactory() : null;
        }
    }

    /** Selects as {@code getBean} by type does: of several beans, those that are candidates. */
    private static List<String> toChooseFrom(ConfigurableListableBeanFactory from) {
        List<String> all = List.of(from.getBeanNamesForType(LockClient.class));
        List<String> candidates = all.stream()
                .filter(name -> !from.containsBeanDefinition(name)
                        || from.getBeanDefinition(name).isAutowireCandidate())
                .toList();
        return all.size() == 1 || candidates.isEmpty() ? all : candidates;
    }

    private static boolean isDefault(ConfigurableListableBeanFactory from, String name) {
        return !from.containsBeanDefinition(name)
                || !(from.getMergedBeanDefinition(name) instanceof AbstractBeanDefinition definition)
                || definition.isDefaultCandidate();
    }
}
