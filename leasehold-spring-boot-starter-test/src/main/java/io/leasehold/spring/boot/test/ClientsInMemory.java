package io.leasehold.spring.boot.test;

import io.leasehold.LockClient;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;

/**
 * Replaces the definitions of all clients, also those that the application declares itself, by definitions of in-memory
 * clients that are injected at the same places.
 *
 * <p>Runs after the application's definitions have been read, and before any client is created.
 */
final class ClientsInMemory implements BeanFactoryPostProcessor {

    ClientsInMemory() {}

    @Override
    public void postProcessBeanFactory(ConfigurableListableBeanFactory beans) {
        // An object that is already there is a mock of the test, or belongs to the test in another way.
        List<String> names = Arrays.stream(beans.getBeanNamesForType(LockClient.class, true, false))
                .filter(name -> beans.containsBeanDefinition(name) && !beans.containsSingleton(name))
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

    /** The client that is injected by type: the primary one, or else the only default candidate; null without one. */
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
