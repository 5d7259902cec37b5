package io.leasehold;

/**
 * One level of one kind of promise that a store makes. The constants of each kind are ordered from the weakest to the
 * strongest.
 *
 * <p>Require a level with {@link Leasehold.Builder#require(Guarantee)}: connecting to a store that
 * promises less fails at once. {@link LockClient#guarantees()} is the promise of the connected store.
 */
public sealed interface Guarantee {

    /** Whether two holders can be inside their validity at once. */
    enum Exclusion implements Guarantee {
        /** Exclusion can fail whenever a node fails over, restarts without data or evicts. */
        BEST_EFFORT,
        /** Exclusion holds while clocks run at the same rate within the drift bound and no clock jumps. */
        WITHIN_DRIFT,
        /** The store itself decides, by a consensus protocol or a transaction. */
        BY_STORE
    }

    /** How the fencing tokens of successive leases are ordered. */
    enum Fencing implements Guarantee {
        /** Tokens may repeat or go backwards after a fail-over. */
        BEST_EFFORT,
        /** Each lease of a name has a larger token than every earlier lease of that name. */
        INCREASING
    }

    /** How waiting works. */
    enum Queueing implements Guarantee {
        /** Waiters retry periodically. */
        POLLING,
        /** Waiters are notified when a retry may succeed. */
        WAKE_UP,
        /** Waiters obtain the lock in the order of their first requests. */
        FIFO
    }

    /** The processes and threads that exclude each other. */
    enum Scope implements Guarantee {
        /** Threads of this process. */
        PROCESS,
        /** Processes of this machine. */
        MACHINE,
        /** All clients of the store. */
        NETWORK
    }
}
