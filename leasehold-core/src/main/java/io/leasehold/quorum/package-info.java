/**
 * Locks over a quorum of independent nodes.
 *
 * <p>What is decided stands in pure classes ({@link io.leasehold.quorum.QuorumRound}, {@link
 * io.leasehold.quorum.QuorumRenewal}, {@link io.leasehold.quorum.NodeClocks}); {@link io.leasehold.quorum.QuorumStore} and
 * what it is made of carry it out.
 */
@NullMarked
package io.leasehold.quorum;

import org.jspecify.annotations.NullMarked;
