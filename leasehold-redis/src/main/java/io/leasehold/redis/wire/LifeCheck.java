package io.leasehold.redis.wire;

import java.util.function.BooleanSupplier;

/**
 * How a member script learns whether the birth marker is of the present life of its server. A server that was restarted
 * from older data finds its old marker there, with the run id of the former life.
 */
public enum LifeCheck {

    /**
     * The script compares the marker with the run id that the connection was told when it was made. The run id is added
     * by the connection on which the script is sent, since only this one leads to that life.
     */
    CONNECTION,

    /**
     * Like {@link #CONNECTION} on a connection that is proved to lead to the server itself: the server sees the same two
     * ends of it as the client. On any other there may be a proxy in between, and {@link #INFO} applies.
     */
    CONNECTION_IF_DIRECT,

    /** The script reads the run id itself: for proxies that connect an open connection to another server. */
    INFO,

    /** Each life counts: the server keeps every acknowledged write over a restart. */
    DURABLE;

    /**
     * The argument of the scripts.
     *
     * @param runId the run id that the connection was told
     * @param direct whether it is proved that the connection leads to the server itself; asked only if it matters
     */
    String argument(String runId, BooleanSupplier direct) {
        return switch (this) {
            case CONNECTION -> runId;
            case CONNECTION_IF_DIRECT -> direct.getAsBoolean() ? runId : "volatile";
            case INFO -> "volatile";
            case DURABLE -> "durable";
        };
    }
}
