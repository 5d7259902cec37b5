package io.leasehold.spring;

import org.springframework.aop.config.AopConfigUtils;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.core.type.AnnotationMetadata;
import org.springframework.util.ClassUtils;

/**
 * Registers the parts of {@link EnableLeasehold} that are not beans of {@link LeaseholdConfiguration}: proxies, and the
 * commit guard.
 */
final class LeaseholdRegistrar implements ImportBeanDefinitionRegistrar {

    private static final String GUARD = "io.leasehold.spring.transactionManagers";

    LeaseholdRegistrar() {}

    @Override
    public void registerBeanDefinitions(AnnotationMetadata importing, BeanDefinitionRegistry registry) {
        AopConfigUtils.registerAutoProxyCreatorIfNecessary(registry);
        if (LeaseholdConfiguration.attributes(importing).getBoolean("proxyTargetClass")) {
            AopConfigUtils.forceAutoProxyCreatorToUseClassProxying(registry);
        }
        boolean transactions = ClassUtils.isPresent(
                "org.springframework.transaction.TransactionManager", getClass().getClassLoader());
        if (transactions && !registry.containsBeanDefinition(GUARD)) {
            RootBeanDefinition guard = new RootBeanDefinition(GuardedTransactionManagers.class);
            guard.setRole(BeanDefinition.ROLE_INFRASTRUCTURE);
            registry.registerBeanDefinition(GUARD, guard);
        }
    }
}
