package io.leasehold.verify.chaos;

import io.leasehold.simulator.LeaseKind;
import java.util.List;
import java.util.OptionalLong;

/** Reads the remains of clients in a store, by the store's own tools. */
interface Remains {

    /** Reads nothing. */
    Remains UNSEEN = new Remains() {};

    /** Called before the clients start, with the kind of their leases. */
    default void prepare(LeaseKind kind) throws Exception {}

    /** Called when all clients have ended: returns their remains that should have gone. */
    default List<String> left() throws Exception {
        return List.of();
    }

    /** The forbidden changes of the remains. */
    default List<String> wrongs() throws Exception {
        return List.of();
    }

    /** The number of remains that housekeeping has removed, or empty if the store removes them by itself. */
    default OptionalLong removed() throws Exception {
        return OptionalLong.empty();
    }
}
