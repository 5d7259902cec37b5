package io.leasehold.fencing;

/** What a resource answered to a fencing token. */
public sealed interface Admission {

    /** The resource that was asked. */
    String resource();

    /** The token that was shown. */
    long token();

    /** Whether the holder may go on. */
    default boolean isAdmitted() {
        return this instanceof Admitted;
    }

    /**
     * Goes on only if the token was admitted.
     *
     * @throws StaleTokenException if a newer holder has been here
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
     * A newer holder has been here: this one's lease had ended, whatever it believes.
     *
     * @param resource the resource
     * @param token the token
     * @param newest the largest token seen
     */
    record Rejected(String resource, long token, long newest) implements Admission {}

    /**
     * There is no such resource; nothing was registered. Not the same as a rejection: the holder may be entitled, and look in
     * the wrong place.
     *
     * @param resource the resource
     * @param token the token
     */
    record Missing(String resource, long token) implements Admission {}
}
