/**
 * The SPI: what the author of a {@link io.leasehold.spi.LockStore} reads, and nothing else. The engine sees a store and knows no
 * ballots. A store whose servers are nodes that answer ballots implements {@link io.leasehold.node.LockNode} instead; core lifts one
 * of them, or a quorum of them, into a {@code LockStore}. {@link io.leasehold.spi.toolkit} has what many stores need.
 *
 * <p>The engine counts validity, renews, queues and tells; a store only answers. It never reads a clock, sleeps or draws
 * randomness but through the {@link io.leasehold.spi.LockRuntime} it is opened with, so that it runs in virtual time, too. A
 * {@link io.leasehold.spi.StoreProvider} makes it known by a URI's scheme; without one it is handed over as an object:
 *
 * <pre>{@code
 * LockClient locks = Leasehold.builder().store(runtime -> new SingleNodeStore(node, runtime)).connect();
 * }</pre>
 *
 * <p>{@code docs/decisions/spi.md} maps the verbs onto each kind of store; the TCK of {@code leasehold-testkit} tells whether a store
 * keeps what its {@link io.leasehold.Guarantees} promise.
 */
@NullMarked
package io.leasehold.spi;

import org.jspecify.annotations.NullMarked;
