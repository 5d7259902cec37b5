/** A Redis deployment as a node that answers ballots. */
@NullMarked
package io.leasehold.redis.node;

import org.jspecify.annotations.NullMarked;
