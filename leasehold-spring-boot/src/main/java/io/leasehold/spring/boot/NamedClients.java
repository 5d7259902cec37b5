package io.leasehold.spring.boot;

import io.leasehold.LockClient;
import java.util.Map;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotationMetadata;

/**
 * Registers a bean for each client of {@code leasehold.clients.*}. Such a bean is injected only where its name is
 * requested, so that it never makes another client ambiguous.
 */
final class NamedClients implements ImportBeanDefinitionRegistrar {

    static final String PREFIX = StoreOfApplication.PREFIX + ".clients";

    private final Environment environment;

    NamedClients(Environment environment) {
        this.environment = environment;
    }

    /** The configured clients by name, with their properties. */
    static Map<String, Object> in(Environment environment) {
        return Binder.get(environment)
                .bind(PREFIX, Bindable.mapOf(String.class, Object.class))
                .orElseGet(Map::of);
    }

    @Override
    public void registerBeanDefinitions(AnnotationMetadata importing, BeanDefinitionRegistry registry) {
        in(environment).keySet().forEach(name -> registry.registerBeanDefinition(name, definition(name)));
    }

    private static RootBeanDefinition definition(String name) {
        RootBeanDefinition client = new RootBeanDefinition();
        client.setTargetType(LockClient.class);
        client.setFactoryBeanName("leaseholdConfiguredClients");
        client.setUniqueFactoryMethodName("named");
        client.getConstructorArgumentValues().addIndexedArgumentValue(0, name);
        client.setDefaultCandidate(false);
        client.setDestroyMethodName(AbstractBeanDefinition.INFER_METHOD);
        client.setResourceDescription("the properties " + PREFIX + "." + name + ".*");
        return client;
    }
}
