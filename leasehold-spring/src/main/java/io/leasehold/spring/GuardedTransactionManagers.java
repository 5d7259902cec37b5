package io.leasehold.spring;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.core.PriorityOrdered;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.ReactiveTransactionManager;
import org.springframework.util.ClassUtils;

/**
 * Adds the commit guard to every transaction manager.
 *
 * <p>Reactive managers are replaced by proxies of their interfaces, since their commit is a final method, and their
 * listeners do not see the subscription. Inject them as {@link ReactiveTransactionManager}.
 */
final class GuardedTransactionManagers implements BeanPostProcessor, PriorityOrdered {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold.spring");

    private static final boolean REACTOR =
            ClassUtils.isPresent("reactor.core.publisher.Mono", GuardedTransactionManagers.class.getClassLoader());

    /** Runs early, so that managers which other processors need are guarded, too. */
    @Override
    public int getOrder() {
        return LOWEST_PRECEDENCE;
    }

    @Override
    public Object postProcessAfterInitialization(Object bean, String beanName) {
        if (bean instanceof PlatformTransactionManager) {
            if (bean instanceof ConfigurableTransactionManager manager) {
                manager.addListener(new CommitGuard());
            } else {
                LOG.warn(
                        "the transaction manager \"{}\" ({}) is not a ConfigurableTransactionManager, so that its commits under a"
                                + " @Locked method are not guarded. Use one that is, or check the fencing token at the resource.",
                        beanName,
                        bean.getClass().getName());
            }
        }
        return REACTOR && bean instanceof ReactiveTransactionManager manager ? guarded(manager) : bean;
    }

    private static Object guarded(ReactiveTransactionManager manager) {
        ProxyFactory proxy = new ProxyFactory(manager);
        proxy.addAdvice(new ReactiveCommitGuard(manager));
        return proxy.getProxy(manager.getClass().getClassLoader());
    }
}
