package io.leasehold;

/**
 * One level of one thing that a store promises; within each kind the constants are ordered from the
 * weakest to the strongest.
 *
 * <p>Require a level with {@link Leasehold.Builder#require(Guarantee)}: connecting to a store that
 * promises less fails at once. What the connected store promises is
 * {@link LockClient#guarantees()}.
 */
public sealed interface Guarantee {

    /** Whether two holders can be inside their validity at once. */
    enum Exclusion implements Guarantee {
        /** Exclusion can fail whenever a node fails over, restarts without data or evicts. */
        BEST_EFFORT,
        /** Holds while clocks run at the same rate within the drift bound and no clock jumps. */
        WITHIN_DRIFT,
        /** Decided by the store itself (a consensus protocol or a transaction). */
        BY_STORE
    }

    /** What fencing tokens of leases that follow each other are like. */
    enum Fencing implements Guarantee {
        /** Tokens may repeat or go backwards after a fail-over. */
        BEST_EFFORT,
        /** Each lease of a name has a larger token than every lease of that name before it. */
        INCREASING
    }

    /** How waiting works. */
    enum Queueing implements Guarantee {
        /** Waiters try again from time to time. */
        POLLING,
        /** Waiters are told that trying again may be worth it. */
        WAKE_UP,
        /** Waiters obtain the lock in the order in which they first asked. */
        FIFO
    }

    /** Who is excluded. */
    enum Scope implements Guarantee {
        /** Threads of this process. */
        PROCESS,
        /** Processes of this machine. */
        MACHINE,
        /** Whoever reaches the store. */
        NETWORK
    }
}
