package io.leasehold.spi;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The identity of one life of a node's memory: when it changes, the node may have lost its state.
 *
 * @param id the run id, with master and replication id if the node has several; opaque
 */
public record Incarnation(String id) {

    /** The incarnation of stores whose memory outlives the process. */
    public static final Incarnation DURABLE = new Incarnation("durable");

    /** Refuses null. */
    public Incarnation {
        Objects.requireNonNull(id, "id");
    }

    // Written out, like the hash code: a record's own are linked when they are first called, which takes a tenth of a
    // short start.
    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof Incarnation that && id.equals(that.id);
    }

    @Override
    public int hashCode() {
        return id.hashCode();
    }
}
