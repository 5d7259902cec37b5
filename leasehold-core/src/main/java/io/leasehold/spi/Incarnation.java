package io.leasehold.spi;

import java.util.Objects;

/**
 * The identity of one life of a node's memory: when it changes, the node may have lost its state.
 *
 * @param id run id, and master and replication id where there are several; opaque
 */
public record Incarnation(String id) {

    /** The incarnation of stores whose memory does not end with a process. */
    public static final Incarnation DURABLE = new Incarnation("durable");

    /** Refuses null. */
    public Incarnation {
        Objects.requireNonNull(id, "id");
    }
}
