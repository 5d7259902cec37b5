package io.leasehold.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a parameter of type {@code long} of a {@link Locked} method that receives the
 * {@linkplain io.leasehold.Lease#fencingToken() fencing token} of the lease, regardless of the caller's argument. An
 * annotation of the same parameter in an interface or a superclass counts, too.
 */
@Target(ElementType.PARAMETER)
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface FencingToken {}
