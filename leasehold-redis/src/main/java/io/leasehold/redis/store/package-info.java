/** The opening of Redis nodes, and the guarantees of stores that consist of them. */
@NullMarked
package io.leasehold.redis.store;

import org.jspecify.annotations.NullMarked;
