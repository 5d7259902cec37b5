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
                            "has no place where locks come from: there is no bean of type io.leasehold.LockClient",
                            "Declare one: @Bean LockClient locks() { return Leasehold.connect(\"redis://…\"); }")
                    : LintFinding.refusal(
                            locked.method(),
                            "names the client \"" + name + "\", and no bean of type LockClient has that name",
                            "Name one of " + Arrays.toString(names) + ", or declare the one you mean");
        }
    }

    /**
     * Spring would answer with a bean that is no default candidate where there is no other to choose. A replica that knows another client, since its
     * settings differ, would lock elsewhere.
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
                                + "\", which is no default candidate",
                        "Write client = \"" + name
                                + "\", or declare a client that is one (with Spring Boot: set leasehold.uri)");
            }
            from = chosen.isEmpty() ? nearest.getParentBeanFactory() : null;
        }
    }

    /** As {@code getBean} by type does: of several, those that are candidates. */
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
