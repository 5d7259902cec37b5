package io.leasehold.node;

/**
 * A message that tells a member of a quorum since when it remembers.
 *
 * @param nonce the name of the life that was found without a birth: no other life accepts this message
 * @param bornMicros the birth by the clock of the set, read after the nonce was known; zero declares that the node is new and has lost nothing
 * @param configuration the set as this client knows it
 * @param timeoutNanos the time limit after which the node must complete its reply
 */
public record Birth(String nonce, long bornMicros, String configuration, long timeoutNanos) {

    /** The nonce of {@link #declared}: valid for every life and every earlier set. */
    public static final String ANY_LIFE = "*";

    /**
     * An operator's declaration that the node has lost nothing: it may grant at once.
     *
     * @param configuration the set to which it belongs from now on
     */
    public static Birth declared(String configuration, long timeoutNanos) {
        return new Birth(ANY_LIFE, 0, configuration, timeoutNanos);
    }
}
