package io.leasehold.memory;

import io.leasehold.LockName;
import java.util.Map;
import java.util.TreeMap;

/**
 * The state of an {@link InMemoryNode} at one moment, as a disk or a replica keeps it. Immutable.
 */
public final class NodeImage {

    static final NodeImage EMPTY = new NodeImage(Map.of(), Map.of(), new MemberMarker());

    private final Map<LockName, NameState> entries;
    private final Map<LockName, PermitsState> permits = new TreeMap<>();
    private final MemberMarker marker;

    NodeImage(Map<LockName, NameState> entries, Map<LockName, PermitsState> permits, MemberMarker marker) {
        this.entries = copy(entries);
        permits.forEach((name, state) -> this.permits.put(name, state.copy()));
        this.marker = marker.copy();
    }

    private static Map<LockName, NameState> copy(Map<LockName, NameState> entries) {
        Map<LockName, NameState> copy = new TreeMap<>();
        entries.forEach((name, entry) -> copy.put(name, entry.copy()));
        return copy;
    }

    /** Returns a separate copy for one node. */
    Map<LockName, NameState> entries() {
        return copy(entries);
    }

    /** Returns the permits, which a node copies. */
    Map<LockName, PermitsState> permits() {
        return permits;
    }

    /** Returns a separate copy for one node. */
    MemberMarker marker() {
        return marker.copy();
    }
}
