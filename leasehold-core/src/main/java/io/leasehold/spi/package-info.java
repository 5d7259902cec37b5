/**
 * What a store implements. Two levels: {@link io.leasehold.spi.LockStore} is what the engine sees and
 * knows no ballots; {@link io.leasehold.spi.LockNode} is what one node answers to a ballot, and core lifts
 * one of them, or a quorum of them, into a {@code LockStore}.
 *
 * <p>{@code docs/decisions/spi.md} maps the verbs onto each kind of store.
 */
@NullMarked
package io.leasehold.spi;

import org.jspecify.annotations.NullMarked;
