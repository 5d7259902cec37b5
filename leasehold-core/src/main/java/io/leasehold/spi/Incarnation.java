package io.leasehold.spi;

import java.util.Objects;

/**
 * What identifies one life of a node's memory: when it changes, the node may have forgotten.
 *
 * @param id run id, and master and replication id where there are several; opaque
 */
public record Incarnation(String id) {

    /** For stores whose memory does not end with a process. */
    public static final Incarnation DURABLE = new Incarnation("durable");

    /** Refuses null. */
    public Incarnation {
        Objects.requireNonNull(id, "id");
    }
}
