/**
 * A deterministic world for locks: virtual time, timers, threads, randomness and networks, in one thread; one seed
 * determines everything.
 *
 * <pre>{@code
 * VirtualWorld world = VirtualWorld.seeded(42);
 * VirtualRuntime virtual = world.process("app");
 * LockClient locks = Leasehold.builder().store("memory:").runtime(virtual).connect();
 * Lease lease = locks.named("order:1001").acquire();
 * virtual.pause(Duration.ofMinutes(1));      // a long garbage collection
 * assertFalse(lease.isValid());
 * }</pre>
 */
@NullMarked
package io.leasehold.testkit.virtual;

import org.jspecify.annotations.NullMarked;
