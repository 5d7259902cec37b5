package io.leasehold.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.context.annotation.Import;
import org.springframework.core.Ordered;

/**
 * On a configuration class: methods with {@link Locked} are locked. It needs a bean of type {@link io.leasehold.LockClient}, and takes
 * {@link LeaseholdSettings} if there is such a bean.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Import({LeaseholdConfiguration.class, LeaseholdRegistrar.class})
public @interface EnableLeasehold {

    /** Whether proxies are subclasses of the bean's class, or have its interfaces only. */
    boolean proxyTargetClass() default false;

    /**
     * The order of the lock among other advisors. Default: inside of retries and {@code @Async}, and before the transaction advisor,
     * whatever its order; the property {@code leasehold.advisor-order} goes before this. An order with which a transaction would begin before the lock is taken is refused at start.
     */
    int order() default Ordered.LOWEST_PRECEDENCE;
}
