package io.leasehold.engine;

import io.leasehold.spi.OwnerToken;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.stream.Stream;

/** The grants a client holds, by owner token; those of one atomic request share theirs. And those that it is ending. */
final class HoldTable {

    private final ConcurrentMap<OwnerToken, List<GrantKeeper>> held = new ConcurrentHashMap<>();

    /** Their end is decided, and not yet with the {@link Undoer}; what was lost before is not among those held any more. */
    private final Set<GrantKeeper> ending = ConcurrentHashMap.newKeySet();

    void add(OwnerToken owner, GrantKeeper grant) {
        held.merge(
                owner,
                List.of(grant),
                (some, more) -> Stream.concat(some.stream(), more.stream()).toList());
    }

    void remove(OwnerToken owner, GrantKeeper grant) {
        held.computeIfPresent(owner, (o, grants) -> {
            List<GrantKeeper> rest = grants.size() == 1 && grants.get(0) == grant
                    ? List.of()
                    : grants.stream().filter(g -> g != grant).toList();
            return rest.isEmpty() ? null : rest;
        });
    }

    List<GrantKeeper> find(OwnerToken owner) {
        return held.getOrDefault(owner, List.of());
    }

    boolean isEmpty() {
        return held.isEmpty();
    }

    List<GrantKeeper> all() {
        return held.values().stream().flatMap(List::stream).toList();
    }

    void endBegun(GrantKeeper grant) {
        ending.add(grant);
    }

    void endSent(GrantKeeper grant) {
        ending.remove(grant);
    }

    boolean isNoneEnding() {
        return ending.isEmpty();
    }
}
