package io.leasehold.quorum;

import io.leasehold.Guarantee;
import io.leasehold.node.LockNode;
import io.leasehold.node.Membership;
import java.util.Objects;

/**
 * One node of a set.
 *
 * @param node the node; closed with the set
 * @param name its name for all clients of the set, without secrets
 * @param persistence the part of its memory that survives a restart
 * @param exclusion the strongest level that the set can promise with this member: less than {@code WITHIN_DRIFT} for a
 *     server that fails over on its own or may drop keys
 */
public record QuorumMember(
        LockNode node, String name, Membership.Persistence persistence, Guarantee.Exclusion exclusion) {

    /** Creates a member; refuses null values. */
    public QuorumMember {
        Objects.requireNonNull(node, "node");
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(persistence, "persistence");
        Objects.requireNonNull(exclusion, "exclusion");
    }

    /** Creates a member that may lose its state at each restart and then waits for the end of the quarantine. */
    public static QuorumMember of(LockNode node, String name) {
        return new QuorumMember(node, name, Membership.Persistence.VOLATILE, Guarantee.Exclusion.WITHIN_DRIFT);
    }
}
