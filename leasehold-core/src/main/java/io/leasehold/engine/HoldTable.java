package io.leasehold.engine;

import io.leasehold.spi.OwnerToken;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.stream.Stream;

/** The grants a client holds, by owner token; those of one atomic request share theirs. And those that it is ending. */
final class HoldTable {

    private final ConcurrentMap<OwnerToken, List<HeldGrant>> held = new ConcurrentHashMap<>();

    /** Their end is decided, and not yet with the {@link ReleaseRetrier}; what was lost before is not among those held any more. */
    private final Set<HeldGrant> ending = ConcurrentHashMap.newKeySet();

    void add(OwnerToken owner, HeldGrant grant) {
        held.merge(
                owner,
                List.of(grant),
                (some, more) -> Stream.concat(some.stream(), more.stream()).toList());
    }

    void remove(OwnerToken owner, HeldGrant grant) {
        held.computeIfPresent(owner, (o, grants) -> {
            List<HeldGrant> rest = grants.size() == 1 && grants.get(0) == grant
                    ? List.of()
                    : grants.stream().filter(g -> g != grant).toList();
            return rest.isEmpty() ? null : rest;
        });
    }

    List<HeldGrant> find(OwnerToken owner) {
        return held.getOrDefault(owner, List.of());
    }

    boolean isEmpty() {
        return held.isEmpty();
    }

    List<HeldGrant> all() {
        return held.values().stream().flatMap(List::stream).toList();
    }

    void endBegun(HeldGrant grant) {
        ending.add(grant);
    }

    void endSent(HeldGrant grant) {
        ending.remove(grant);
    }

    boolean isNoneEnding() {
        return ending.isEmpty();
    }
}
