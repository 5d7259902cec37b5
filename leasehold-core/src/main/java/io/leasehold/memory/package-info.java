/**
 * A node in this process's memory: a store for one process, and the reference for all others.
 *
 * <p>{@code memory:} locks out the threads of one client and nobody else. It is for trying things out and for tests, where it
 * behaves as a store over the network does, also in virtual time:
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
