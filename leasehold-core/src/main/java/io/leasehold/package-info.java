/**
 * The API: distributed locks as leases.
 *
 * <p>Every lock across processes is a lease: it expires, even if its holder does not notice. This package therefore
 * hands out {@link io.leasehold.Lease leases} that know their true validity (counted from before the request was sent,
 * less {@linkplain io.leasehold.LockOptions drift}), renew themselves until closed, report when and why they ended, and
 * carry a fencing token that the guarded resource can check.
 *
 * <h2>The first lock</h2>
 *
 * <pre>{@code
 * try (LockClient locks = Leasehold.connect("redis://localhost:6379")) {
 *     DistributedLock lock = locks.named(LockName.of("order:{id}", 1001));
 *     try (Lease lease = lock.acquire()) {
 *         Order order = orders.read(1001, lease.fencingToken());
 *         lease.ensureValidFor(Duration.ofSeconds(1));
 *         orders.write(order.paid(), lease.fencingToken());
 *     }
 * }
 * }</pre>
 *
 * <p>Create one {@link io.leasehold.LockClient} per process, like a connection pool. A
 * {@link io.leasehold.DistributedLock} is a name with options; it costs nothing and holds nothing. A lease is held
 * until it is closed. The URI selects the store among the artefacts on the class path: {@code memory:},
 * {@code sqlite:}, {@code redis:}, {@code redlock:}, {@code jdbc:}, {@code zk:}, {@code etcd:}.
 *
 * <h2>Waiting</h2>
 *
 * <p>A {@code Duration} given to an acquiring method is the caller's patience, never a ttl. Zero means one attempt.
 *
 * <pre>{@code
 * try (Lease lease = lock.tryAcquire(Duration.ofSeconds(3))) {
 *     if (lease == null) {
 *         return;
 *     }
 *     orders.write(order.paid(), lease.fencingToken());
 * }
 * lock.holdWhile(Duration.ofSeconds(3), lease -> pay(lease.fencingToken()));
 * }</pre>
 *
 * <h2>Loss</h2>
 *
 * <p>A lease can end before its holder is done: the store is unreachable, an operator releases the lock, the machine is
 * suspended. {@link io.leasehold.Hold#isValid()} is false before the lock can have another holder, under the conditions
 * that the store's {@link io.leasehold.Guarantees} name; callbacks report the loss.
 *
 * <pre>{@code
 * lease.onAtRisk(left -> System.err.println("renewal is late, " + left + " left"));
 * lease.onLost(cause -> System.err.println("stop: " + cause));
 * }</pre>
 *
 * <p>No check can foresee a pause <em>after</em> the check. Where that matters, the resource checks the fencing token: {@link
 * io.leasehold.fencing}.
 *
 * <h2>Further reading</h2>
 *
 * <ul>
 *   <li>{@link io.leasehold.LockOptions}: ttl, renewal, drift, and the formulas that relate them;
 *   <li>{@link io.leasehold.DistributedLock#asReentrantLock()}: a {@link java.util.concurrent.locks.Lock};
 *   <li>{@link io.leasehold.LockClient#all}: several locks, all or none;
 *   <li>{@link io.leasehold.admin.LockAdmin}: inspects holders and releases locks by force;
 *   <li>{@link io.leasehold.spi}: implementing a store.
 * </ul>
 */
@NullMarked
package io.leasehold;

import org.jspecify.annotations.NullMarked;
