package io.leasehold.verify.chaos;

import java.util.List;
import java.util.OptionalLong;

/** Looks at what a store keeps, past our clients, by its own means. */
interface Remains {

    /** Looks at nothing. */
    Remains UNSEEN = new Remains() {};

    /** Before the clients come. */
    default void prepare() throws Exception {}

    /** When all clients have ended: what is there of them, and should have gone or will soon. */
    default List<String> left() throws Exception {
        return List.of();
    }

    /** What has happened to what is kept and must not. */
    default List<String> wrongs() throws Exception {
        return List.of();
    }

    /** How much housekeeping has removed, or empty where the store does that by itself. */
    default OptionalLong removed() throws Exception {
        return OptionalLong.empty();
    }
}
