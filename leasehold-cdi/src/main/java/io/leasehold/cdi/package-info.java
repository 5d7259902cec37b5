/**
 * Locks for Jakarta CDI 4.0 and 4.1: {@link io.leasehold.cdi.Locked} on a method. *
 * <p>A bean of type {@link io.leasehold.LockClient}, or the setting {@code leasehold.uri} of MicroProfile Config, is the place where locks
 * come from. The lock is taken before the transaction begins and released after it has committed, and a transaction whose lease is
 * over is rolled back.
 */
@NullMarked
package io.leasehold.cdi;

import org.jspecify.annotations.NullMarked;
