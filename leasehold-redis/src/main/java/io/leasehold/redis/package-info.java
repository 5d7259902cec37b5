/** Leasehold's stores in Redis and Valkey. */
@NullMarked
package io.leasehold.redis;

import org.jspecify.annotations.NullMarked;
