/**
 * The node-level SPI: a node that answers ballots ({@link io.leasehold.node.LockNode}), and a store from one node.
 *
 * <p>The client proposes a token, and a node grants it. A node grants only numbers above all that it has granted or
 * received. The proposal is near the node's own clock ({@link io.leasehold.node.BallotClock}), never the client's, so
 * that tokens keep increasing even after a node has lost its grants. {@link io.leasehold.node.SingleNodeStore} makes a
 * {@link io.leasehold.spi.LockStore} of one node; {@link io.leasehold.quorum} makes one of several.
 */
@NullMarked
package io.leasehold.node;

import org.jspecify.annotations.NullMarked;
