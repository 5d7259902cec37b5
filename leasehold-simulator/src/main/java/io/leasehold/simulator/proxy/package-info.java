/**
 * A TCP proxy that injects the faults of real networks. Tests switch them while connections are open, and counters
 * prove that each fault took place.
 *
 * <pre>{@code
 * try (TcpProxy way = TcpProxy.to(6379);
 *         LockClient locks = Leasehold.connect("redis://127.0.0.1:" + way.port());
 *         Lease lease = locks.named("order:1001").acquire()) {
 *     way.stall();
 *     lease.onLost(cause -> System.out.println("heard of it although nothing comes through: " + cause));
 * }
 * }</pre>
 */
@NullMarked
package io.leasehold.simulator.proxy;

import org.jspecify.annotations.NullMarked;
