package io.leasehold.spring;

import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.ReactiveTransactionManager;
import org.springframework.util.ClassUtils;

/**
 * Puts the commit guard before the commits of every transaction manager.
 *
 * <p>Reactive managers become proxies of their interfaces: their commit is a final method, and no listener of theirs sees the
 * subscription. They have to be injected as {@link ReactiveTransactionManager}, then.
 */
final class GuardedTransactionManagers implements BeanPostProcessor {

    private static final boolean REACTOR =
            ClassUtils.isPresent("reactor.core.publisher.Mono", GuardedTransactionManagers.class.getClassLoader());

    @Override
    public Object postProcessAfterInitialization(Object bean, String beanName) {
        if (bean instanceof PlatformTransactionManager && bean instanceof ConfigurableTransactionManager manager) {
            manager.addListener(new CommitGuard());
        }
        return REACTOR && bean instanceof ReactiveTransactionManager manager ? guarded(manager) : bean;
    }

    private static Object guarded(ReactiveTransactionManager manager) {
        ProxyFactory proxy = new ProxyFactory(manager);
        proxy.addAdvice(new ReactiveCommitGuard(manager));
        return proxy.getProxy(manager.getClass().getClassLoader());
    }
}
