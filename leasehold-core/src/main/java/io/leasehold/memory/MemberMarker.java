package io.leasehold.memory;

import io.leasehold.node.Birth;
import io.leasehold.node.Membership;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.Incarnation;
import org.jspecify.annotations.Nullable;

/**
 * The start of a quorum member's memory, and the set to which it belongs. Guarded by its owner.
 */
final class MemberMarker {

    private @Nullable String configuration;
    private @Nullable String nonce;
    private @Nullable Incarnation life;
    private boolean born;
    private long bornMicros;
    private int lives;

    MemberMarker copy() {
        MemberMarker copy = new MemberMarker();
        copy.configuration = configuration;
        copy.nonce = nonce;
        copy.life = life;
        copy.born = born;
        copy.bornMicros = bornMicros;
        copy.lives = lives;
        return copy;
    }

    /** The reason why the node must not grant, or null. */
    @Nullable
    NodeReply refusal(Membership membership, Incarnation now, long serverMicros) {
        boolean anotherLife = membership.persistence() == Membership.Persistence.VOLATILE && !now.equals(life);
        if (!born || anotherLife) {
            if (nonce == null || !now.equals(life)) {
                nonce = now.id() + '-' + serverMicros + '-' + ++lives;
                life = now;
            }
            born = false;
            return new NodeReply.Unborn(nonce, now, serverMicros);
        }
        if (!membership.configuration().equals(configuration)) {
            return new NodeReply.OtherSet(String.valueOf(configuration), now, serverMicros);
        }
        long leftMicros = membership.quarantineMicros() - (membership.estimateMicros() - bornMicros);
        if (leftMicros > 0) {
            return new NodeReply.Quarantined(leftMicros * 1_000, now, serverMicros);
        }
        return null;
    }

    NodeReply birth(Birth birth, Incarnation now, long serverMicros) {
        boolean declared = birth.nonce().equals(Birth.ANY_LIFE);
        if (!declared && (born || !birth.nonce().equals(nonce) || !now.equals(life))) {
            return new NodeReply.Refused(
                    "is a different life by now, or has already received its birth", 0, now, serverMicros);
        }
        configuration = birth.configuration();
        nonce = null;
        life = now;
        born = true;
        bornMicros = birth.bornMicros();
        return new NodeReply.Stale(0, now, serverMicros);
    }
}
