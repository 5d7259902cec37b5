package io.leasehold.verify.sql;

/** The kinds of fault of the simulated database, its connections and its clients. Each is counted where it happened. */
enum SqlFault {
    /** A client pauses before a statement. */
    PAUSE_BEFORE_STATEMENT,
    /** A client pauses between the reply to a statement and the next one. */
    PAUSE_AFTER_REPLY,
    /** A client pauses between the check of its lease and the use of the resource. */
    PAUSE_BEFORE_USE,
    /** A connection breaks before the statement arrives. */
    RESET_BEFORE_STATEMENT,
    /** A connection breaks after the execution of the statement and before its reply. */
    RESET_BEFORE_REPLY,
    /** The same for a commit, or for a statement that is its own transaction. */
    REPLY_OF_A_COMMIT_LOST,
    /** Statements of one client vanish. */
    CUT_REQUESTS,
    /** Replies to one client vanish. */
    CUT_REPLIES,
    /** Packets of one client are held back. */
    STALL,
    /** No new connection can be opened. */
    REFUSE,
    /** A client has closed a silent connection. */
    SILENCE,
    /** A client is stopped at any moment, and then continues. */
    CLIENT_FREEZE,
    /** A client's machine sleeps: its monotonic clock stops, too. */
    CLIENT_SUSPEND,
    /** A client is killed; another one starts. */
    CLIENT_CRASH,
    /** A client's wall clock is set. */
    CLIENT_WALL_STEP,
    /** A client's clock runs at a wrong rate. */
    CLIENT_CLOCK_RATE,
    /** The database's clock runs at a wrong rate. */
    DATABASE_CLOCK_RATE,
    /** The database's clock is set. */
    DATABASE_CLOCK_STEP,
    /** The database pauses. */
    DATABASE_FREEZE,
    /** The database crashes: uncommitted changes are rolled back, and all connections break. */
    DATABASE_CRASH,
    /** Another user keeps a row locked. */
    ROW_KEPT_LOCKED,
    /** A statement has waited for a row. */
    ROW_WAITED_FOR,
    /** A statement has waited for a row in vain. */
    ROW_WAITED_FOR_IN_VAIN,
    /** The database has ended an idle transaction. */
    TRANSACTION_ENDED_AS_IDLE,
    /** A new client searches for rows to delete. */
    HOUSEKEEPING,
    /** A row was deleted. */
    ROW_DELETED,
    /** An operator releases a lock by force. */
    FORCED_RELEASE,
    /** A caller cancels its attempt. */
    CANCEL
}
