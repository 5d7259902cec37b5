package io.leasehold.verify.queue;

/** Every kind of fault of a simulated cluster, of the ways to it and of its clients. Each is counted where it really happened. */
public enum QueueFault {
    /** A client stands still before a call. */
    PAUSE_BEFORE_CALL,
    /** A client stands still between the reply to a call and what follows from it. */
    PAUSE_AFTER_REPLY,
    /** A client stands still between the check of its lease and the use of the resource. */
    PAUSE_BEFORE_USE,
    /** A connection breaks before the call arrives. */
    RESET_BEFORE_CALL,
    /** A connection breaks when the call is under way: it is carried out later, and not answered. */
    RESET_BEFORE_REPLY,
    /** Calls of one client vanish. */
    CUT_REQUESTS,
    /** Replies and events to one client vanish. */
    CUT_REPLIES,
    /** Messages of one client are held back. */
    STALL,
    /** An event comes later than replies that were sent after it. */
    LATE_EVENT,
    /** The watches of one client break. */
    WATCH_BROKEN,
    /** A lease or a session has ended by itself, and what it kept is gone. */
    EXPIRED,
    /** A member that lags behind has shown an older state, also to a session that has ended meanwhile. */
    STALE_READ,
    /** Another member leads. */
    NEW_LEADER,
    /** A lease or a session was extended, and the next leader does not know. */
    EXTENSION_LOST,
    /** A client is stopped at any moment, and goes on. */
    CLIENT_FREEZE,
    /** A client's machine sleeps: its monotonic clock stands still too. */
    CLIENT_SUSPEND,
    /** A client is killed; another one starts. */
    CLIENT_CRASH,
    /** A client's clock runs at a wrong rate. */
    CLIENT_CLOCK_RATE,
    /** The cluster's clock runs at a wrong rate. */
    CLUSTER_CLOCK_RATE,
    /** The cluster stands still. */
    CLUSTER_FREEZE,
    /** An operator takes a lock away. */
    FORCED_RELEASE,
    /** A caller cancels its attempt. */
    CANCEL
}
