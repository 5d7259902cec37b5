package io.leasehold.memory;

import io.leasehold.LockName;
import java.util.Map;
import java.util.TreeMap;

/**
 * The state of an {@link InMemoryNode} at one moment, as a disk or a replica keeps it. Immutable.
 */
public final class NodeImage {

    static final NodeImage EMPTY = new NodeImage(Map.of(), new MemberMarker());

    private final Map<LockName, InMemoryNode.Entry> entries;
    private final MemberMarker marker;

    NodeImage(Map<LockName, InMemoryNode.Entry> entries, MemberMarker marker) {
        this.entries = copy(entries);
        this.marker = marker.copy();
    }

    private static Map<LockName, InMemoryNode.Entry> copy(Map<LockName, InMemoryNode.Entry> entries) {
        Map<LockName, InMemoryNode.Entry> copy = new TreeMap<>();
        entries.forEach((name, entry) -> copy.put(name, entry.copy()));
        return copy;
    }

    /** Returns a separate copy for one node. */
    Map<LockName, InMemoryNode.Entry> entries() {
        return copy(entries);
    }

    /** Returns a separate copy for one node. */
    MemberMarker marker() {
        return marker.copy();
    }
}
