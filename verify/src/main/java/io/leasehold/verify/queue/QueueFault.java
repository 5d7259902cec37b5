package io.leasehold.verify.queue;

/**
 * The kinds of fault of a simulated cluster, of the connections to it and of its clients. Each is counted where it
 * happened.
 */
public enum QueueFault {
    /** A client pauses before a call. */
    PAUSE_BEFORE_CALL,
    /** A client pauses between the reply to a call and its consequences. */
    PAUSE_AFTER_REPLY,
    /** A client pauses between the check of its lease and the use of the resource. */
    PAUSE_BEFORE_USE,
    /** A connection breaks before the call arrives. */
    RESET_BEFORE_CALL,
    /** A connection breaks while a call is in flight: it is carried out later, and not answered. */
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
    /** A lease or a session has ended by itself, and its keys or nodes are gone. */
    EXPIRED,
    /** A lagging member has shown an older state, perhaps to a session that has ended meanwhile. */
    STALE_READ,
    /** Another member becomes leader. */
    NEW_LEADER,
    /** A lease or a session was extended, but the next leader does not know that. */
    EXTENSION_LOST,
    /** A client is stopped at any moment, and then continues. */
    CLIENT_FREEZE,
    /** A client's machine sleeps: its monotonic clock stops, too. */
    CLIENT_SUSPEND,
    /** A client is killed; another one starts. */
    CLIENT_CRASH,
    /** A client's clock runs at a wrong rate. */
    CLIENT_CLOCK_RATE,
    /** The cluster's clock runs at a wrong rate. */
    CLUSTER_CLOCK_RATE,
    /** The cluster pauses. */
    CLUSTER_FREEZE,
    /** An operator releases a lock by force. */
    FORCED_RELEASE,
    /** A caller cancels its attempt. */
    CANCEL
}
