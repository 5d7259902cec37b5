/**
 * Locks over a quorum of independent nodes.
 *
 * <p>Pure classes make the decisions ({@link io.leasehold.quorum.QuorumAttempt}, {@link
 * io.leasehold.quorum.QuorumRound}, {@link io.leasehold.quorum.QuorumRenewal}, {@link io.leasehold.quorum.NodeClocks},
 * {@link io.leasehold.quorum.BirthMarkers}); {@link io.leasehold.quorum.QuorumSession} and {@link
 * io.leasehold.quorum.NodeSet} perform the actions.
 */
@NullMarked
package io.leasehold.quorum;

import org.jspecify.annotations.NullMarked;
