/** The guarantees of stores made of such nodes. */
@NullMarked
package io.leasehold.redis.store;

import org.jspecify.annotations.NullMarked;
