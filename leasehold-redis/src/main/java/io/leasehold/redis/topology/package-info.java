/** Which servers there are, and the connections to them. */
@NullMarked
package io.leasehold.redis.topology;

import org.jspecify.annotations.NullMarked;
