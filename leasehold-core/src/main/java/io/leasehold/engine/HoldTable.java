package io.leasehold.engine;

import io.leasehold.admin.ClientRecord;
import io.leasehold.spi.OwnerToken;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.stream.Stream;

/** The grants a client holds, by owner token; those of one atomic request share theirs. And those that it is ending. */
final class HoldTable {

    /** A grant, as its client sees it. */
    interface Held {

        void on(GrantEvent event);

        /** Takes in a suspension that was noticed; nothing if it is known here. */
        void noticeSuspension();

        /** The client closes, and if the holder has not given it back, it is ended at the store all the same. */
        void endAtClose();

        /** Whether a thread other than this one opened the current lease and is there to give it back. */
        boolean awaitsOtherThan(Thread thread);

        /** Whether the current lease was not given back, and its thread, if one is known, is there to do it. */
        boolean awaitsAnyThread();

        /** The current lease, as the client's record tells of it. */
        ClientRecord.ClientHold asClientHold();
    }

    private final ConcurrentMap<OwnerToken, List<Held>> held = new ConcurrentHashMap<>();

    /** Their end is decided, and not yet with the {@link ReleaseRetrier}; what was lost before is not among those held any more. */
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

    boolean isNoneEnding() {
        return ending.isEmpty();
    }
}
