/**
 * A node in this process's memory: a store for one process, and the reference implementation for all others.
 *
 * <p>{@code memory:} excludes only the threads of one client. Use it for experiments and tests, where it behaves like a
 * store over the network, even in virtual time:
 *
 * <pre>{@code
 * try (LockClient locks = Leasehold.connect("memory:");
 *         Lease lease = locks.named("order:1001").acquire()) {
 *     System.out.println(lease.fencingToken());
 * }
 * }</pre>
 */
@NullMarked
package io.leasehold.memory;

import org.jspecify.annotations.NullMarked;
