/**
 * Locks for Jakarta CDI 4.0 and 4.1: {@link io.leasehold.cdi.Locked} on a method. *
 * <p>A bean of type {@link io.leasehold.LockClient}, or the setting {@code leasehold.uri} of MicroProfile Config,
 * provides the locks. The lock is acquired before the transaction begins and released after it has committed. If the
 * lease has ended, the transaction is rolled back.
 */
@NullMarked
package io.leasehold.cdi;

import org.jspecify.annotations.NullMarked;
