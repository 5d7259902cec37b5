package io.leasehold.cdi;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a parameter of a {@link Locked} method as a key of the lock, in place of {@link Locked#key}. Several marked
 * parameters are several keys, in their order.
 */
@Target(ElementType.PARAMETER)
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface LockKey {

    /** A path that starts at the parameter: {@code id}, {@code customer.id}. Default: the parameter itself. */
    String value() default "";
}
