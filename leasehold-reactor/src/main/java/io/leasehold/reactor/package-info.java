/** Locks around publishers of Reactor: {@link io.leasehold.reactor.ReactiveLocks}. */
@NullMarked
package io.leasehold.reactor;

import org.jspecify.annotations.NullMarked;
