package io.leasehold.verify.chaos;

/** The target of a fault. */
public enum FaultGroup {
    /** Clients are stopped, continued and killed. */
    CLIENT,
    /** Connections are delayed, stalled, cut, reset, half opened, refused, and lose messages. */
    NETWORK,
    /** Servers are stopped, continued, killed and restarted. */
    SERVER
}
