/** The wire format: keys, values, scripts, replies and pushed messages. {@code docs/wire-format.md} is its specification. */
@NullMarked
package io.leasehold.redis.wire;

import org.jspecify.annotations.NullMarked;
