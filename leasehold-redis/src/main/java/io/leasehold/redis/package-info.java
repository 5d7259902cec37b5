/**
 * Leasehold's stores in Redis and Valkey.
 *
 * <p>One server is named by its URI, and needs nothing of this package: {@code
 * Leasehold.connect("redis://localhost:6379")}, {@code rediss://} with TLS. A quorum of independent servers is {@code
 * redlock:}, or in code:
 *
 * <pre>{@code
 * Redlock nodes = Redlock.over("redis://a:6379", "redis://b:6379", "redis://c:6379");
 * LockClient locks = Leasehold.builder()
 *         .store(nodes::open)
 *         .require(Guarantee.Fencing.INCREASING)
 *         .connect();
 * }</pre>
 *
 * <p>A lock is a plain key that any client in any language excludes and is excluded by; {@code docs/wire-format.md} is its
 * specification, and {@code docs/stores/redis.md} says what a server has to be set to for which guarantee.
 */
@NullMarked
package io.leasehold.redis;

import org.jspecify.annotations.NullMarked;
