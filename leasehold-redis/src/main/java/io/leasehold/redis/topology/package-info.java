/** The servers of a deployment and the connections to them. */
@NullMarked
package io.leasehold.redis.topology;

import org.jspecify.annotations.NullMarked;
