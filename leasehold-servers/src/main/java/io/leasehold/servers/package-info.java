/**
 * Launches real lock stores as child processes of this JVM: single Redis servers today, and groups of them that replicate,
 * fail over or share slots.
 *
 * <p>Everything listens on 127.0.0.1 only, and nothing started here outlives the JVM, however that ends. Servers are
 * started, killed, frozen and restarted on purpose; the classes are meant for demonstrations, tests and benchmarks, never
 * for production data. They need a POSIX system with {@code sh}.
 */
@NullMarked
package io.leasehold.servers;

import org.jspecify.annotations.NullMarked;
