package io.leasehold.redis.wire;

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
     * Like {@link #CONNECTION}, unless the server says that it listens at another port than the one that was connected
     * to: then there may be a proxy in between, and {@link #INFO} applies.
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
     * @param direct whether the server listens at the port that was connected to
     */
    String argument(String runId, boolean direct) {
        return switch (this) {
            case CONNECTION -> runId;
            case CONNECTION_IF_DIRECT -> direct ? runId : "volatile";
            case INFO -> "volatile";
            case DURABLE -> "durable";
        };
    }
}
