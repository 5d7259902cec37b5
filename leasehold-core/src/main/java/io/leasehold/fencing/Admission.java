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
     * The resource had seen no newer token that excludes this one, which is now registered.
     *
     * @param resource the resource
     * @param token the token
     */
    record Admitted(String resource, long token) implements Admission {}

    /**
     * A newer holder has used the resource: the lease of this holder has ended, even if it did not notice.
     *
     * @param resource the resource
     * @param token the token
     * @param newest the larger token that excludes this one: the largest seen or, if a reader was rejected, that of the
     *     newest writer
     */
    record Rejected(String resource, long token, long newest) implements Admission {}

    /**
     * The resource does not exist; nothing was registered. Unlike a rejection, the holder's lease may be valid: it has
     * named a wrong resource.
     *
     * @param resource the resource
     * @param token the token
     */
    record Missing(String resource, long token) implements Admission {}
}
