package io.leasehold.spring;

import org.aopalliance.aop.Advice;
import org.springframework.aop.Advisor;
import org.springframework.aop.Pointcut;
import org.springframework.aop.PointcutAdvisor;
import org.springframework.aop.support.AbstractBeanFactoryPointcutAdvisor;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.core.Ordered;
import org.springframework.transaction.interceptor.TransactionAspectSupport;
import org.springframework.util.ClassUtils;

/** Applies the lock to methods with {@link Locked}, outside of transactions. */
final class LockedAdvisor implements PointcutAdvisor, Ordered {

    /**
     * Inside of advisors that run a method elsewhere or repeatedly (async, retry, concurrency limits), and outside of
     * transactions.
     */
    static final int USUAL_ORDER = LOWEST_PRECEDENCE - 1000;

    private static final boolean TRANSACTIONS = ClassUtils.isPresent(
            "org.springframework.transaction.interceptor.TransactionAspectSupport",
            LockedAdvisor.class.getClassLoader());

    private final LockedMethods methods;
    private final LockedInterceptor interceptor;
    private final int order;

    LockedAdvisor(LockedMethods methods, LockedInterceptor interceptor, int order) {
        this.methods = methods;
        this.interceptor = interceptor;
        this.order = order;
    }

    /**
     * Finds an order before that of every transaction advisor.
     *
     * @throws LockedUsageException if one of them has the highest possible precedence
     */
    static int orderBeforeTransactions(ListableBeanFactory beans) {
        int order = USUAL_ORDER;
        if (!TRANSACTIONS) {
            return order;
        }
        for (String name : beans.getBeanNamesForType(AbstractBeanFactoryPointcutAdvisor.class, true, false)) {
            Class<?> type = beans.getType(name, false);
            if (type != null
                    && AbstractBeanFactoryPointcutAdvisor.class.isAssignableFrom(type)
                    && isOfTransactions(beans, name)) {
                int transactions = ((Ordered) beans.getBean(name)).getOrder();
                if (transactions == HIGHEST_PRECEDENCE) {
                    throw new LockedUsageException(
                            "the transaction advisor \"" + name
                                    + "\" has the highest precedence, so that no lock can be acquired before"
                                    + " its transaction begins",
                            "Give it a lower precedence, such as @EnableTransactionManagement(order = 0)");
                }
                order = Math.min(order, transactions - 1);
            }
        }
        return order;
    }

    private static boolean isOfTransactions(ListableBeanFactory beans, String name) {
        AbstractBeanFactoryPointcutAdvisor advisor = beans.getBean(name, AbstractBeanFactoryPointcutAdvisor.class);
        String advice = advisor.getAdviceBeanName();
        Class<?> type = advice == null ? null : beans.getType(advice, false);
        return advice == null
                ? advisor.getAdvice() instanceof TransactionAspectSupport
                : type != null && TransactionAspectSupport.class.isAssignableFrom(type);
    }

    /** Whether an advisor begins transactions. */
    static boolean isOfTransactions(Advisor advisor) {
        return TRANSACTIONS && advisor.getAdvice() instanceof TransactionAspectSupport;
    }

    @Override
    public int getOrder() {
        return order;
    }

    @Override
    public Pointcut getPointcut() {
        return methods;
    }

    @Override
    public Advice getAdvice() {
        return interceptor;
    }
}
