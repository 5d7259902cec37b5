/**
 * The SPI for authors of a {@link io.leasehold.spi.LockStore}. The engine uses a store and does not know ballots. A
 * store whose servers are nodes that answer ballots implements {@link io.leasehold.node.LockNode} instead; core turns
 * one of them, or a quorum of them, into a {@code LockStore}. {@link io.leasehold.spi.toolkit} has utilities for
 * stores.
 *
 * <p>The engine measures validity, renews, queues and notifies; a store only answers requests. A store reads clocks,
 * sleeps and draws randomness only through the {@link io.leasehold.spi.LockRuntime} with which it is opened, so that it
 * also runs in virtual time. A {@link io.leasehold.spi.StoreProvider} registers the store under a URI scheme; without a
 * provider, pass the store as an object:
 *
 * <pre>{@code
 * LockClient locks = Leasehold.builder().store(runtime -> new SingleNodeStore(node, runtime)).connect();
 * }</pre>
 *
 * <p>{@code docs/decisions/spi.md} maps the operations onto each kind of store; the TCK of {@code leasehold-testkit}
 * checks that a store keeps the promises of its {@link io.leasehold.Guarantees}.
 */
@NullMarked
package io.leasehold.spi;

import org.jspecify.annotations.NullMarked;
