/**
 * Locks for Spring Framework 6.2 and 7: {@link io.leasehold.spring.Locked} on a method.
 *
 * <pre>{@code
 * @Locked(name = "order:{}", key = "#order.id", maxWait = "3s")
 * @Transactional
 * public void pay(Order order, Lease lease) {
 *     orders.write(order.paid(), lease.fencingToken());
 * }
 * }</pre>
 *
 * <p>{@link io.leasehold.spring.EnableLeasehold} enables it; a bean of type {@link io.leasehold.LockClient} provides
 * the locks. The lock is acquired before the transaction begins and released after it has committed. If the lease has
 * ended, the transaction is rolled back.
 */
@NullMarked
package io.leasehold.spring;

import org.jspecify.annotations.NullMarked;
