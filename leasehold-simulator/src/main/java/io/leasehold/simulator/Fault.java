package io.leasehold.simulator;

/** The kinds of fault that the simulator knows. Each is counted where it really happened. */
public enum Fault {
    /** A message takes longer than the shortest delay. */
    DELAY,
    /** A message is lost. */
    LOSS,
    /** A message arrives twice. */
    DUPLICATION,
    /** A message overtakes another, as on two connections. */
    REORDERING,
    /** A connection breaks after the request and before the reply. */
    RESET_AFTER_SEND,
    /** A reply comes after its time limit. */
    LATE_REPLY,
    /** Requests of one client to one node vanish. */
    CUT_REQUESTS,
    /** Replies and signals of one node to one client vanish. */
    CUT_REPLIES,
    /** A connection stalls, and then continues. */
    STALL,
    /** Connections to the port are refused. */
    REFUSE,
    /** A client is cut off from several nodes. */
    PARTITION,
    /** A client pauses between taking the time and sending. */
    PAUSE_BEFORE_SEND,
    /** A client pauses between the arrival of a reply and its use. */
    PAUSE_AFTER_REPLY,
    /** A client pauses between checking its lease and using the resource. */
    PAUSE_BEFORE_USE,
    /** A client pauses in a renewal. */
    PAUSE_IN_RENEWAL,
    /** A client is stopped at any moment, and then continues. */
    CLIENT_FREEZE,
    /** A client's machine sleeps: its monotonic clock stops, too. */
    CLIENT_SUSPEND,
    /** A client is killed; another one starts. */
    CLIENT_CRASH,
    /** A caller cancels its attempt. */
    CANCEL,
    /** A client's wall clock is set. */
    CLIENT_WALL_STEP,
    /** A client's monotonic clock runs at a wrong rate. */
    CLIENT_CLOCK_LINEAR,
    /** A client's monotonic clock alternately gains and loses time. */
    CLIENT_CLOCK_PERIODIC,
    /** A node's clock runs at a wrong rate. */
    NODE_CLOCK_LINEAR,
    /** A node's clock alternately gains and loses time. */
    NODE_CLOCK_PERIODIC,
    /** A node's clock is set: only the guarantee of the checking resource survives that. */
    NODE_CLOCK_STEP,
    /** A node is stopped, and then continues. */
    NODE_FREEZE,
    /** A node crashes and keeps its whole state. */
    NODE_CRASH_KEEPS,
    /** A node crashes and loses its whole state. */
    NODE_CRASH_LOSES_ALL,
    /** A node crashes and loses its last writes. */
    NODE_CRASH_LOSES_LAST,
    /** A replica that lacks some writes replaces a node, without a gap. */
    NODE_FAIL_OVER,
    /** An operator releases a lock by force. */
    FORCED_RELEASE;

    /** Whether a node loses acknowledged writes. */
    boolean forgets() {
        return this == NODE_CRASH_LOSES_ALL || this == NODE_CRASH_LOSES_LAST || this == NODE_FAIL_OVER;
    }
}
