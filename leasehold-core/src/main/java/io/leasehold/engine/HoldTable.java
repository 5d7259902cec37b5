package io.leasehold.engine;

import io.leasehold.spi.OwnerToken;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/** The grants a client holds, by owner token. */
final class HoldTable {

    private final ConcurrentMap<OwnerToken, GrantKeeper> held = new ConcurrentHashMap<>();

    void add(OwnerToken owner, GrantKeeper grant) {
        held.put(owner, grant);
    }

    void remove(OwnerToken owner) {
        held.remove(owner);
    }

    @Nullable
    GrantKeeper find(OwnerToken owner) {
        return held.get(owner);
    }

    boolean isEmpty() {
        return held.isEmpty();
    }

    List<GrantKeeper> all() {
        return List.copyOf(held.values());
    }
}
