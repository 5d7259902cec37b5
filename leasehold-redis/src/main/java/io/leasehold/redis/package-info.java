/**
 * Leasehold's stores in Redis and Valkey.
 *
 * <p>For a single server the URI is enough, without this package: {@code Leasehold.connect("redis://localhost:6379")},
 * or {@code rediss://} for TLS. A quorum of independent servers has a {@code redlock:} URI, or in code:
 *
 * <pre>{@code
 * Redlock nodes = Redlock.over("redis://a:6379", "redis://b:6379", "redis://c:6379");
 * LockClient locks = Leasehold.builder()
 *         .store(nodes::open)
 *         .require(Guarantee.Fencing.INCREASING)
 *         .connect();
 * }</pre>
 *
 * <p>A lock is a plain key, so clients in any language can exclude each other with it; {@code docs/wire-format.md} is
 * its specification. {@code docs/stores/redis.md} lists the server settings that each guarantee needs.
 */
@NullMarked
package io.leasehold.redis;

import org.jspecify.annotations.NullMarked;
