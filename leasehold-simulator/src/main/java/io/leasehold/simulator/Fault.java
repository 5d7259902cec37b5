package io.leasehold.simulator;

/** Every kind of fault that the simulator knows. Each is counted where it really happened. */
public enum Fault {
    /** A message takes longer than the shortest way. */
    DELAY,
    /** A message is lost. */
    LOSS,
    /** A message arrives twice. */
    DUPLICATION,
    /** A message overtakes another, as over two connections. */
    REORDERING,
    /** A connection breaks after the request and before the reply. */
    RESET_AFTER_SEND,
    /** A reply comes after its time limit. */
    LATE_REPLY,
    /** Requests of one client to one node vanish. */
    CUT_REQUESTS,
    /** Replies and signals of one node to one client vanish. */
    CUT_REPLIES,
    /** A connection stalls, and continues. */
    STALL,
    /** Connections to the port are refused. */
    REFUSE,
    /** A client is cut off from several nodes. */
    PARTITION,
    /** A client stands still between taking the time and sending. */
    PAUSE_BEFORE_SEND,
    /** A client stands still between the arrival of a reply and its use. */
    PAUSE_AFTER_REPLY,
    /** A client stands still between looking at its lease and using the resource. */
    PAUSE_BEFORE_USE,
    /** A client stands still in a renewal. */
    PAUSE_IN_RENEWAL,
    /** A client is stopped at any moment, and continues. */
    CLIENT_FREEZE,
    /** A client's machine sleeps: its monotonic clock stands still too. */
    CLIENT_SUSPEND,
    /** A client is killed; another one starts. */
    CLIENT_CRASH,
    /** A caller cancels its attempt. */
    CANCEL,
    /** A client's wall clock is set. */
    CLIENT_WALL_STEP,
    /** A client's monotonic clock runs at a wrong rate. */
    CLIENT_CLOCK_LINEAR,
    /** A client's monotonic clock gains and loses. */
    CLIENT_CLOCK_PERIODIC,
    /** A node's clock runs at a wrong rate. */
    NODE_CLOCK_LINEAR,
    /** A node's clock gains and loses. */
    NODE_CLOCK_PERIODIC,
    /** A node's clock is set: what no guarantee but that of the checking resource survives. */
    NODE_CLOCK_STEP,
    /** A node is stopped, and continues. */
    NODE_FREEZE,
    /** A node crashes and keeps everything. */
    NODE_CRASH_KEEPS,
    /** A node crashes and loses everything. */
    NODE_CRASH_LOSES_ALL,
    /** A node crashes and loses its last writes. */
    NODE_CRASH_LOSES_LAST,
    /** A replica that lags by some writes takes over from a node, without a gap. */
    NODE_FAIL_OVER,
    /** An operator takes a lock away. */
    FORCED_RELEASE;

    /** Whether a node forgets what it has acknowledged. */
    boolean forgets() {
        return this == NODE_CRASH_LOSES_ALL || this == NODE_CRASH_LOSES_LAST || this == NODE_FAIL_OVER;
    }
}
