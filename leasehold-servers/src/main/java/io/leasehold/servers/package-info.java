/**
 * Launches real lock stores as child processes of this JVM: single Redis servers, groups of them that replicate, fail over or
 * share slots, and etcd servers.
 *
 * <p>Everything listens on 127.0.0.1 only, and nothing started here outlives the JVM, in any way that it ends. Servers are
 * started, killed, frozen and restarted on purpose; the classes are meant for demonstrations, tests and benchmarks, never
 * for production data. They need a POSIX system with {@code sh}.
 *
 * <pre>{@code
 * try (RedisServer server = RedisServer.builder().durable().start();
 *         LockClient locks = Leasehold.connect(server.uri());
 *         Lease lease = locks.named("order:1001").acquire()) {
 *     server.freeze();
 *     System.out.println("a holder without an answer is notified in time: " + lease.whenEnded());
 * }
 * }</pre>
 *
 * <p>If no server is available, {@link io.leasehold.servers.ServerUnavailableException} names the package to install, so that
 * a skipped test can report it.
 */
@NullMarked
package io.leasehold.servers;

import org.jspecify.annotations.NullMarked;
