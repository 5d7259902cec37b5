package io.leasehold.engine;

import io.leasehold.LockName;
import io.leasehold.admin.ClientRecord;
import io.leasehold.spi.OwnerToken;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The grants that a client holds, by owner token, and those that it is ending. The grants of one atomic request share
 * an owner token.
 *
 * <p>{@code this} guards the held ones.
 */
final class HoldTable {

    /** A grant, as seen by its client. */
    interface Held {

        LockName name();

        void on(GrantMachine.Event event);

        /** Processes a suspension that was detected; does nothing if the grant has already processed it. */
        void noticeSuspension();

        /** Ends the grant at the store when the client closes, if the holder has not released it. */
        void endAtClose();

        /** Whether a thread other than this one opened the current lease and is alive to release it. */
        boolean awaitsOtherThan(Thread thread);

        /** Whether the current lease was not released, and its thread, if known, is alive to release it. */
        boolean awaitsAnyThread();

        /** Returns the time since the store granted it. */
        long ageNanos();

        /** Returns the current lease for the client's record; so many times, if it stands for several permits. */
        List<ClientRecord.ClientHold> asClientHolds();
    }

    private final OwnerIndex<Held> held = new OwnerIndex<>();

    /**
     * The grants whose end is decided and has not reached the {@link ReleaseRetrier}. Those that were lost before are
     * no longer in the other table.
     */
    private final Set<Held> ending = ConcurrentHashMap.newKeySet();

    synchronized void add(OwnerToken owner, Held grant) {
        held.add(owner, grant);
    }

    synchronized void remove(OwnerToken owner, Held grant) {
        held.remove(owner, grant);
    }

    synchronized List<Held> find(OwnerToken owner) {
        return held.find(owner);
    }

    synchronized boolean isEmpty() {
        return held.isEmpty();
    }

    synchronized List<Held> all() {
        return held.all();
    }

    void endBegun(Held grant) {
        ending.add(grant);
    }

    void endSent(Held grant) {
        ending.remove(grant);
    }

    boolean hasNoneEnding() {
        return ending.isEmpty();
    }
}
