package io.leasehold.spring;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.Advisor;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.interceptor.AsyncExecutionInterceptor;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;

/**
 * Checks each bean with locked methods when the application starts, and later beans when they are created: refuses what
 * cannot work, and reports what looks wrong.
 */
final class LockedBeans implements BeanPostProcessor, SmartInitializingSingleton {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold.spring");

    private final LockedMethods methods;
    private final LockClients clients;
    private final ConfigurableListableBeanFactory beans;

    /** The beans created before the application is complete; guarded by {@code this}. */
    private final Map<Class<?>, Object> early = new LinkedHashMap<>();

    /** The classes of beans that were created later: another object of one of them needs no further check. */
    private final Set<Class<?>> later = ConcurrentHashMap.newKeySet();

    private boolean complete;

    LockedBeans(LockedMethods methods, LockClients clients, ConfigurableListableBeanFactory beans) {
        this.methods = methods;
        this.clients = clients;
        this.beans = beans;
    }

    @Override
    public Object postProcessAfterInitialization(Object bean, String beanName) {
        Class<?> type = AopProxyUtils.ultimateTargetClass(bean);
        if (!methods.isLocked(type)) {
            return bean;
        }
        synchronized (this) {
            if (!complete) {
                early.put(type, bean);
                return bean;
            }
        }
        if (!later.contains(type)) {
            tell(checked(type, bean, methods.allOf(type)));
            later.add(type);
        }
        return bean;
    }

    @Override
    public void afterSingletonsInstantiated() {
        Map<Class<?>, Object> made;
        synchronized (this) {
            complete = true;
            made = new LinkedHashMap<>(early);
            early.clear();
            later.addAll(made.keySet());
        }
        List<LintFinding> findings = new ArrayList<>();
        List<LockedMethod> all = new ArrayList<>();
        made.forEach((type, bean) -> {
            List<LockedMethod> locked = methods.allOf(type);
            findings.addAll(checked(type, bean, locked));
            all.addAll(locked);
        });
        findings.addAll(LockedLint.outerTransactions(made.keySet(), all));
        findings.addAll(LockedLint.disagreements(all));
        if (clients.settings().lint() != LintLevel.OFF && !all.isEmpty()) {
            findings.addAll(TokenColumns.writtenByEntities(beans));
        }
        tell(findings);
    }

    private List<LintFinding> checked(Class<?> type, Object bean, List<LockedMethod> locked) {
        locked.forEach(clients::of);
        refuseWrongOrder(bean, locked.get(0));
        return LockedLint.findings(type, AopUtils.isJdkDynamicProxy(bean) ? bean.getClass() : null, locked);
    }

    private void tell(List<LintFinding> findings) {
        LintLevel level = clients.settings().lint();
        if (level == LintLevel.OFF || findings.isEmpty()) {
            return;
        }
        if (level == LintLevel.FAIL) {
            throw new LockedUsageException(findings);
        }
        findings.forEach(finding -> LOG.warn("{}", finding.text()));
    }

    /**
     * Refuses a lock that is not outside of transactions, or not inside of an advisor that runs the method on another
     * thread.
     */
    private static void refuseWrongOrder(Object bean, LockedMethod locked) {
        boolean seen = false;
        String outside = null;
        for (Advisor advisor : advisors(bean)) {
            if (advisor.getAdvice() instanceof LockedInterceptor) {
                if (outside != null) {
                    throw LintFinding.refusal(
                            locked.method(),
                            "is locked inside of the transaction of " + outside
                                    + ": the lock would be released before the commit",
                            "Give that advisor a larger order, such as @EnableTransactionManagement without an"
                                    + " order, or give the lock a smaller one with @EnableLeasehold(order = …) or the property"
                                    + " leasehold.advisor-order");
                }
                seen = true;
            } else if (LockedAdvisor.isOfTransactions(advisor)) {
                outside = advisor.getClass().getSimpleName();
            } else if (seen && advisor.getAdvice() instanceof AsyncExecutionInterceptor) {
                throw LintFinding.refusal(
                        locked.method(),
                        "is locked outside of @Async: the lock would be released before the method runs",
                        "Give the lock a larger order with @EnableLeasehold(order = …) or the property"
                                + " leasehold.advisor-order");
            }
        }
    }

    /** The advisors from the outermost to the innermost, through nested proxies. */
    private static List<Advisor> advisors(Object bean) {
        List<Advisor> all = new ArrayList<>();
        Object current = bean;
        while (current instanceof Advised advised) {
            all.addAll(List.of(advised.getAdvisors()));
            current = targetOf(current);
        }
        return all;
    }

    private static @Nullable Object targetOf(Object proxy) {
        Object target = AopProxyUtils.getSingletonTarget(proxy);
        return Objects.equals(target, proxy) ? null : target;
    }
}
