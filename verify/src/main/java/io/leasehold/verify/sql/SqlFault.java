package io.leasehold.verify.sql;

/** Every kind of fault of the simulated database, its connections and its clients. Each is counted where it really happened. */
enum SqlFault {
    /** A client stands still before a statement. */
    PAUSE_BEFORE_STATEMENT,
    /** A client stands still between the reply to a statement and the next one. */
    PAUSE_AFTER_REPLY,
    /** A client stands still between the check of its lease and the use of the resource. */
    PAUSE_BEFORE_USE,
    /** A connection breaks before the statement arrives. */
    RESET_BEFORE_STATEMENT,
    /** A connection breaks when the statement has been carried out, and before its reply. */
    RESET_BEFORE_REPLY,
    /** The same, of a commit or of a statement that is a transaction of its own. */
    REPLY_OF_A_COMMIT_LOST,
    /** Statements of one client vanish. */
    CUT_REQUESTS,
    /** Replies to one client vanish. */
    CUT_REPLIES,
    /** Packets of one client are held back. */
    STALL,
    /** No new connection comes about. */
    REFUSE,
    /** A client has ended a connection over which nothing came. */
    SILENCE,
    /** A client is stopped at any moment, and goes on. */
    CLIENT_FREEZE,
    /** A client's machine sleeps: its monotonic clock stands still too. */
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
    /** The database stands still. */
    DATABASE_FREEZE,
    /** The database crashes: what was not committed is undone, and all connections break. */
    DATABASE_CRASH,
    /** A stranger keeps a row locked. */
    ROW_KEPT_LOCKED,
    /** A statement has waited for a row. */
    ROW_WAITED_FOR,
    /** It has waited in vain. */
    ROW_WAITED_FOR_IN_VAIN,
    /** The database has ended a transaction that stood still. */
    TRANSACTION_ENDED_AS_IDLE,
    /** A client that has just begun looks for rows to delete. */
    HOUSEKEEPING,
    /** A row was deleted. */
    ROW_DELETED,
    /** An operator takes a lock away. */
    FORCED_RELEASE,
    /** A caller cancels its attempt. */
    CANCEL
}
