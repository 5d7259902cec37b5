/** Locks in Redis or Valkey, over Jedis. */
@NullMarked
package io.leasehold.jedis;

import org.jspecify.annotations.NullMarked;
