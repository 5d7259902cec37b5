package io.leasehold.engine;

import io.leasehold.LockName;
import io.leasehold.admin.ClientRecord;
import io.leasehold.spi.OwnerToken;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.stream.Stream;

/**
 * The grants that a client holds, by owner token, and those that it is ending. The grants of one atomic request share
 * an owner token.
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

        /** Returns the current lease for the client's record. */
        ClientRecord.ClientHold asClientHold();
    }

    private final ConcurrentMap<OwnerToken, List<Held>> held = new ConcurrentHashMap<>();

    /**
     * The grants whose end is decided and has not reached the {@link ReleaseRetrier}. Those that were lost before are
     * no longer in the other table.
     */
    private final Set<Held> ending = ConcurrentHashMap.newKeySet();

    void add(OwnerToken owner, Held grant) {
        held.merge(
                owner,
                List.of(grant),
                (some, more) -> Stream.concat(some.stream(), more.stream()).toList());
    }

    void remove(OwnerToken owner, Held grant) {
        held.computeIfPresent(owner, (o, grants) -> {
            List<Held> rest = grants.size() == 1 && grants.get(0) == grant
                    ? List.of()
                    : grants.stream().filter(g -> g != grant).toList();
            return rest.isEmpty() ? null : rest;
        });
    }

    List<Held> find(OwnerToken owner) {
        return held.getOrDefault(owner, List.of());
    }

    boolean isEmpty() {
        return held.isEmpty();
    }

    List<Held> all() {
        return held.values().stream().flatMap(List::stream).toList();
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
