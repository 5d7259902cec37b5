package io.leasehold.verify.chaos;

import java.util.List;
import java.util.OptionalLong;

/** Reads the remains in a store past our clients, by its own means. */
interface Remains {

    /** Reads nothing. */
    Remains UNSEEN = new Remains() {};

    /** Before the clients come. */
    default void prepare() throws Exception {}

    /** When all clients have ended: what is there of them, and should have gone or will soon. */
    default List<String> left() throws Exception {
        return List.of();
    }

    /** The changes of the remains that must not happen. */
    default List<String> wrongs() throws Exception {
        return List.of();
    }

    /** How much housekeeping has removed, or empty where the store does that by itself. */
    default OptionalLong removed() throws Exception {
        return OptionalLong.empty();
    }
}
