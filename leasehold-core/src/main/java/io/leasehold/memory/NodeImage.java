package io.leasehold.memory;

import io.leasehold.LockName;
import java.util.Map;
import java.util.TreeMap;

/**
 * The state of an {@link InMemoryNode} at one moment, as a disk or a replica keeps it. Immutable.
 */
public final class NodeImage {

    static final NodeImage EMPTY = new NodeImage(Map.of(), new MemberMarker());

    private final Map<LockName, NameState> entries;
    private final MemberMarker marker;

    NodeImage(Map<LockName, NameState> entries, MemberMarker marker) {
        this.entries = copy(entries);
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

    /** Returns a separate copy for one node. */
    MemberMarker marker() {
        return marker.copy();
    }
}
