package io.leasehold.spring.boot.test;

import io.leasehold.spring.boot.LeaseholdAutoConfiguration;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;

/**
 * On a test class: locks are kept in the memory of this process, whatever the application sets, and a bean of type {@link LockFaults}
 * loses and occupies them, and makes their store unreachable.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@ImportAutoConfiguration({LeaseholdTestAutoConfiguration.class, LeaseholdAutoConfiguration.class})
public @interface AutoConfigureLeasehold {}
