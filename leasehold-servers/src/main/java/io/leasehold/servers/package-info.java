/**
 * Launches real lock stores as child processes of this JVM: single Redis servers, groups of them that replicate, fail over or
 * share slots, and etcd servers.
 *
 * <p>Everything listens on 127.0.0.1 only, and nothing started here outlives the JVM, however that ends. Servers are
 * started, killed, frozen and restarted on purpose; the classes are meant for demonstrations, tests and benchmarks, never
 * for production data. They need a POSIX system with {@code sh}.
 *
 * <pre>{@code
 * try (RedisServer server = RedisServer.builder().durable().start();
 *         LockClient locks = Leasehold.connect(server.uri());
 *         Lease lease = locks.named("order:1001").acquire()) {
 *     server.freeze();
 *     System.out.println("whom nobody answers, hears of it in time: " + lease.whenEnded());
 * }
 * }</pre>
 *
 * <p>Where a server cannot be had, {@link io.leasehold.servers.ServerUnavailableException} says what to install: a test that
 * skips then says why.
 */
@NullMarked
package io.leasehold.servers;

import org.jspecify.annotations.NullMarked;
