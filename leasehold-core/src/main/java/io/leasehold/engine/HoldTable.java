package io.leasehold.engine;

import io.leasehold.spi.OwnerToken;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/** The leases a client holds, by owner token. */
final class HoldTable {

    private final ConcurrentMap<OwnerToken, LeaseHandle> held = new ConcurrentHashMap<>();

    void add(OwnerToken owner, LeaseHandle lease) {
        held.put(owner, lease);
    }

    void remove(OwnerToken owner) {
        held.remove(owner);
    }

    @Nullable
    LeaseHandle find(OwnerToken owner) {
        return held.get(owner);
    }

    List<LeaseHandle> all() {
        return List.copyOf(held.values());
    }
}
