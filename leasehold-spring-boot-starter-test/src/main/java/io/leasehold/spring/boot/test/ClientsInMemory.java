package io.leasehold.spring.boot.test;

import io.leasehold.LockClient;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;

/**
 * Replaces the definitions of all clients, also those that the application declares itself, by definitions of in-memory
 * clients that are injected at the same places. A client of a type of its own stays: an in-memory client could not be
 * injected by that type.
 *
 * <p>Runs after the application's definitions have been read, and before any client is created.
 */
final class ClientsInMemory implements BeanFactoryPostProcessor {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold.spring");

    ClientsInMemory() {}

    @Override
    public void postProcessBeanFactory(ConfigurableListableBeanFactory beans) {
        // An object that is already there is a mock of the test, or belongs to the test in another way.
        List<String> names = Arrays.stream(beans.getBeanNamesForType(LockClient.class, true, false))
                .filter(name -> beans.containsBeanDefinition(name) && !beans.containsSingleton(name))
                .filter(name -> isReplaceable(beans, name))
                .toList();
        String standard = standard(beans, names);
        for (String name : names) {
            RootBeanDefinition client = inMemory(beans.getMergedBeanDefinition(name));
            if (name.equals(standard)) {
                client.setUniqueFactoryMethodName("client");
            } else {
                client.setUniqueFactoryMethodName("clientAt");
                client.getConstructorArgumentValues().addIndexedArgumentValue(0, name);
            }
            BeanDefinitionRegistry definitions = (BeanDefinitionRegistry) beans;
            // Spring Boot refuses a definition that overrides another one.
            definitions.removeBeanDefinition(name);
            definitions.registerBeanDefinition(name, client);
        }
    }

    private static boolean isReplaceable(ConfigurableListableBeanFactory beans, String name) {
        Class<?> type = beans.getType(name, false);
        boolean replaceable = type == null || type == LockClient.class;
        if (!replaceable) {
            LOG.info("the client \"{}\" stays as it is in this test, since its type is {}", name, type.getName());
        }
        return replaceable;
    }

    /** The replaced client that is injected by type: the primary one, or else the only default candidate; null without one. */
    private static @Nullable String standard(ConfigurableListableBeanFactory beans, List<String> names) {
        List<String> primary = names.stream()
                .filter(name -> beans.getMergedBeanDefinition(name).isPrimary())
                .toList();
        List<String> chosen = !primary.isEmpty()
                ? primary
                : names.stream()
                        .filter(name -> isCandidate(beans.getMergedBeanDefinition(name)))
                        .toList();
        return chosen.size() == 1 ? chosen.get(0) : null;
    }

    private static boolean isCandidate(BeanDefinition definition) {
        return definition.isAutowireCandidate()
                && !definition.isFallback()
                && (!(definition instanceof AbstractBeanDefinition own) || own.isDefaultCandidate());
    }

    /** A definition that is injected at the same places. */
    private static RootBeanDefinition inMemory(BeanDefinition replaced) {
        RootBeanDefinition client = new RootBeanDefinition();
        client.setTargetType(LockClient.class);
        client.setFactoryBeanName("lockFaults");
        client.setDestroyMethodName(AbstractBeanDefinition.INFER_METHOD);
        client.setLazyInit(replaced.isLazyInit());
        client.setPrimary(replaced.isPrimary());
        client.setFallback(replaced.isFallback());
        client.setAutowireCandidate(replaced.isAutowireCandidate());
        client.setResourceDescription(replaced.getResourceDescription());
        if (replaced instanceof AbstractBeanDefinition own) {
            client.setDefaultCandidate(own.isDefaultCandidate());
            client.copyQualifiersFrom(own);
        }
        if (replaced instanceof RootBeanDefinition merged) {
            Method factory = merged.getResolvedFactoryMethod();
            client.setQualifiedElement(factory != null ? factory : merged.getQualifiedElement());
        }
        return client;
    }
}
