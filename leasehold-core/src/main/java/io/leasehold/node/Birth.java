package io.leasehold.node;

import java.util.Objects;

/**
 * Tells a member of a quorum since when it remembers.
 *
 * @param nonce names the life that was found without a birth: no other life takes this
 * @param bornMicros by the clock of the set, read after the nonce was told; zero declares that the node is new and has
 *     nothing to forget
 * @param configuration the set as this client knows it
 * @param timeoutNanos after which the node must complete its reply
 */
public record Birth(String nonce, long bornMicros, String configuration, long timeoutNanos) {

    /** The nonce of {@link #declared}: whatever life it is, and whatever set it was of. */
    public static final String ANY_LIFE = "*";

    /**
     * An operator's word that the node has nothing to forget: it may grant at once.
     *
     * @param configuration the set it is a member of from now on
     */
    public static Birth declared(String configuration, long timeoutNanos) {
        return new Birth(ANY_LIFE, 0, configuration, timeoutNanos);
    }

    /** Refuses nulls. */
    public Birth {
        Objects.requireNonNull(nonce, "nonce");
        Objects.requireNonNull(configuration, "configuration");
    }
}
