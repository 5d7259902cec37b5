package io.leasehold.demo.actor;

/** By what an actor is kept out, or is not. */
public enum Scheme {
    /** Leasehold. */
    LEASEHOLD("Leasehold"),
    /** Nothing: whoever asks may come in. */
    NONE("no lock"),
    /** {@code SETNX}, then {@code EXPIRE}: two commands, and a holder may die between them. */
    SETNX_THEN_EXPIRE("SETNX, then EXPIRE"),
    /** {@code GET}, and if there is nothing {@code SET}: two may see nothing. */
    GET_THEN_SET("GET, then SET"),
    /** {@code SET NX PX} of a text that is the same for all: nobody can tell whose lock it is. */
    FIXED_VALUE("one value for all"),
    /** {@code SET NX PX} of a text of one's own, which the release does not look at. */
    DELETE_WITHOUT_COMPARE("DEL without comparing"),
    /** The release compares, and deletes with a second command: between them the lock may change hands. */
    GET_THEN_DELETE("GET, then DEL"),
    /** Redlock as it was published, with {@code INCR} beside it for a token. */
    REDLOCK_AS_PUBLISHED("Redlock as published");

    private final String words;

    Scheme(String words) {
        this.words = words;
    }

    /** For people. */
    public String words() {
        return words;
    }
}
