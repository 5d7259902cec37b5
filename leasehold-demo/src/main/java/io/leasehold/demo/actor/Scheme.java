package io.leasehold.demo.actor;

/** The kinds of lock in the demonstrations. */
public enum Scheme {
    /** Leasehold. */
    LEASEHOLD("Leasehold"),
    /** None: every request is granted. */
    NONE("no lock"),
    /** {@code SETNX}, then {@code EXPIRE}: two commands, and a holder may die between them. */
    SETNX_THEN_EXPIRE("SETNX, then EXPIRE"),
    /** {@code GET}, and if there is nothing {@code SET}: two clients may see nothing. */
    GET_THEN_SET("GET, then SET"),
    /** {@code SET NX PX} of a value that is the same for all: the holder cannot be identified. */
    FIXED_VALUE("one value for all"),
    /** {@code SET NX PX} of a unique value, which the release does not compare. */
    DELETE_WITHOUT_COMPARE("DEL without comparing"),
    /** The release compares, and deletes with a second command: between them the lock may change hands. */
    GET_THEN_DELETE("GET, then DEL"),
    /** Redlock as it was published, with {@code INCR} for a token. */
    REDLOCK_AS_PUBLISHED("Redlock as published");

    private final String words;

    Scheme(String words) {
        this.words = words;
    }

    /** The human-readable name. */
    public String words() {
        return words;
    }
}
