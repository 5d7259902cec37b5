package io.leasehold.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.context.annotation.Import;
import org.springframework.core.Ordered;

/**
 * Enables {@link Locked} methods; place it on a configuration class. It needs a bean of type
 * {@link io.leasehold.LockClient}, and uses a bean of type {@link LeaseholdSettings} if there is one.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Import({LeaseholdConfiguration.class, LeaseholdRegistrar.class})
public @interface EnableLeasehold {

    /** Whether proxies are subclasses of the bean's class; otherwise they implement only its interfaces. */
    boolean proxyTargetClass() default false;

    /**
     * The order of the lock among other advisors. Default: inside of retries and {@code @Async}, and before the
     * transaction advisor, whatever its order; the property {@code leasehold.advisor-order} overrides this. An order
     * with which a transaction would begin before the lock is acquired is refused at startup.
     */
    int order() default Ordered.LOWEST_PRECEDENCE;
}
