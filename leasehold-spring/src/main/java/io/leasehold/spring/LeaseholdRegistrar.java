package io.leasehold.spring;

import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.config.AopConfigUtils;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.BeanDefinitionBuilder;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.core.Ordered;
import org.springframework.core.type.AnnotationMetadata;
import org.springframework.expression.spel.support.StandardEvaluationContext;
import org.springframework.util.ClassUtils;

/** Registers what {@link EnableLeasehold} switches on: the proxies, the advisor, the checks, the commit guard. */
final class LeaseholdRegistrar implements ImportBeanDefinitionRegistrar {

    private static final String PREFIX = "io.leasehold.spring.";

    @Override
    public void registerBeanDefinitions(AnnotationMetadata importing, BeanDefinitionRegistry registry) {
        Map<String, Object> attributes = importing.getAnnotationAttributes(EnableLeasehold.class.getName());
        AopConfigUtils.registerAutoProxyCreatorIfNecessary(registry);
        if (attributes != null && Boolean.TRUE.equals(attributes.get("proxyTargetClass"))) {
            AopConfigUtils.forceAutoProxyCreatorToUseClassProxying(registry);
        }
        int order = attributes != null && attributes.get("order") instanceof Integer given ? given : Ordered.LOWEST_PRECEDENCE;
        register(registry, order);
    }

    /**
     * Registers all of it, once.
     *
     * @param order that of the advisor, or the lowest precedence for one before all transaction advisors
     */
    static void register(BeanDefinitionRegistry registry, int order) {
        if (!(registry instanceof ConfigurableListableBeanFactory beans) || registry.containsBeanDefinition(PREFIX + "advisor")) {
            return;
        }
        add(registry, "methods", LockedMethods.class, () -> new LockedMethods(reader(beans)));
        add(registry, "clients", LockClients.class, () -> new LockClients(beans));
        add(
                registry,
                "advisor",
                LockedAdvisor.class,
                () -> new LockedAdvisor(
                        beans.getBean(LockedMethods.class),
                        new LockedInterceptor(beans.getBean(LockedMethods.class), beans.getBean(LockClients.class)),
                        order == Ordered.LOWEST_PRECEDENCE ? LockedAdvisor.orderBeforeTransactions(beans) : order));
        add(
                registry,
                "beans",
                LockedBeans.class,
                () -> new LockedBeans(beans.getBean(LockedMethods.class), beans.getBean(LockClients.class)));
        if (ClassUtils.isPresent("org.springframework.transaction.TransactionManager", beans.getBeanClassLoader())) {
            add(
                    registry,
                    "transactionManagers",
                    GuardedTransactionManagers.class,
                    GuardedTransactionManagers::new);
        }
    }

    private static <T> void add(
            BeanDefinitionRegistry registry, String name, Class<T> type, Supplier<T> made) {
        BeanDefinition definition = BeanDefinitionBuilder.rootBeanDefinition(type, made)
                .setRole(BeanDefinition.ROLE_INFRASTRUCTURE)
                .getBeanDefinition();
        registry.registerBeanDefinition(PREFIX + name, definition);
    }

    private static LockedMethodReader reader(ConfigurableListableBeanFactory beans) {
        StandardEvaluationContext expressions = new StandardEvaluationContext();
        expressions.setBeanResolver(new BeanFactoryResolver(beans));
        return new LockedMethodReader(text -> resolved(beans.resolveEmbeddedValue(text)), expressions);
    }

    private static String resolved(@Nullable String text) {
        return text == null ? "" : text;
    }
}
