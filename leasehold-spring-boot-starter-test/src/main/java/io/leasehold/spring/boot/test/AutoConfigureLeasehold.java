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
 * Keeps the locks of a test in the memory of this process, regardless of the application's settings, also those of clients
 * that the application declares as beans; place it on a test class. A bean of type {@link LockFaults} loses and occupies locks, and makes their store unreachable.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@ImportAutoConfiguration({LeaseholdTestAutoConfiguration.class, LeaseholdAutoConfiguration.class})
public @interface AutoConfigureLeasehold {}
