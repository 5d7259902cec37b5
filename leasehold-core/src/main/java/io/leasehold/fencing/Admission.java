package io.leasehold.fencing;

/** A resource's answer to a fencing token. */
public sealed interface Admission {

    /** The resource. */
    String resource();

    /** The token. */
    long token();

    /** Whether the holder may proceed. */
    default boolean isAdmitted() {
        return this instanceof Admitted;
    }

    /**
     * Returns only if the token was admitted.
     *
     * @throws StaleTokenException if a newer holder has used the resource
     * @throws FencedResourceMissingException if there is no such resource
     */
    default void orElseThrow() {
        if (this instanceof Rejected rejected) {
            throw new StaleTokenException(rejected);
        } else if (this instanceof Missing missing) {
            throw new FencedResourceMissingException(missing);
        }
    }

    /**
     * No newer token had been seen; this one is now registered.
     *
     * @param resource the resource
     * @param token the token
     */
    record Admitted(String resource, long token) implements Admission {}

    /**
     * A newer holder has used the resource: the lease of this one has ended, even if it did not notice.
     *
     * @param resource the resource
     * @param token the token
     * @param newest the largest token seen
     */
    record Rejected(String resource, long token, long newest) implements Admission {}

    /**
     * There is no such resource; nothing was registered. Different from a rejection: the holder may be entitled, but has named a wrong resource.
     *
     * @param resource the resource
     * @param token the token
     */
    record Missing(String resource, long token) implements Admission {}
}
