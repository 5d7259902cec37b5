/**
 * The node-level SPI: what one node answers to a ballot ({@link io.leasehold.node.LockNode}), and one node lifted into a store.
 *
 * <p>A token is proposed by the client and granted by a node, which grants only what is above everything that it has granted
 * or been told. The proposal is near the node's own clock ({@link io.leasehold.node.BallotClock}), never the client's, so that
 * tokens go on rising also after a node has forgotten what it granted. {@link io.leasehold.node.SingleNodeStore} makes a {@link
 * io.leasehold.spi.LockStore} of one node; {@link io.leasehold.quorum} makes one of several.
 */
@NullMarked
package io.leasehold.node;

import org.jspecify.annotations.NullMarked;
