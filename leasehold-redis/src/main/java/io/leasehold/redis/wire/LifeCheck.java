package io.leasehold.redis.wire;

import java.util.function.BooleanSupplier;

/**
 * How a script knows the run id of its server. A member script decides with it whether the birth marker belongs to the
 * present life: a server that was restarted from older data finds its old marker there, with the run id of the former
 * life. A script that hands a lock over names its server in the message.
 */
public enum LifeCheck {

    /**
     * The script compares the marker with the run id that the server reported when the connection was made. The
     * connection on which the script is sent adds the run id, since only this connection leads to that life.
     */
    CONNECTION,

    /**
     * Like {@link #CONNECTION} on a connection that is proved to lead to the server itself: the server sees the same
     * two ends of it as the client. On any other connection, a proxy may be in between, and {@link #INFO} applies.
     */
    CONNECTION_IF_DIRECT,

    /** The script reads the run id itself: for proxies that connect an open connection to another server. */
    INFO,

    /** Each life counts: the server keeps every acknowledged write over a restart. */
    DURABLE;

    /**
     * The argument of the scripts.
     *
     * @param runId the run id that the server reported on the connection
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
