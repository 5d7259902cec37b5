/** What a store made of such nodes promises. */
@NullMarked
package io.leasehold.redis.store;

import org.jspecify.annotations.NullMarked;
