package io.leasehold.demo.actor;

/** The kinds of lock in the demonstrations. */
public enum Scheme {
    /** Leasehold. */
    LEASEHOLD("Leasehold"),
    /** None: every request is granted. */
    NONE("no lock"),
    /** {@code SETNX}, then {@code EXPIRE}: two commands, and a holder may die between them. */
    SETNX_THEN_EXPIRE("SETNX, then EXPIRE"),
    /** {@code GET}, and {@code SET} if there is no value: two clients may both find none. */
    GET_THEN_SET("GET, then SET"),
    /** {@code SET NX PX} with the same value for all clients: the holder cannot be identified. */
    FIXED_VALUE("one value for all"),
    /** {@code SET NX PX} with a unique value, which the release does not compare. */
    DELETE_WITHOUT_COMPARE("DEL without comparing"),
    /** The release compares, and deletes with a second command: between them the lock may change hands. */
    GET_THEN_DELETE("GET, then DEL"),
    /** Redlock as it was published, with {@code INCR} for a token. */
    REDLOCK_AS_PUBLISHED("Redlock as published");

    private final String words;

    Scheme(String words) {
        this.words = words;
    }

    /** The readable name. */
    public String words() {
        return words;
    }
}
