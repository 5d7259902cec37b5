package io.leasehold.engine;

import io.leasehold.LockName;
import io.leasehold.MultiPermit;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/** Several permits of a name as one hold. */
final class MultiPermitHandle extends JoinedLeases implements MultiPermit {

    private final SortedMap<Integer, Long> tokens;

    private MultiPermitHandle(List<LeaseHandle> parts, SortedMap<Integer, Long> tokens) {
        super(parts);
        this.tokens = tokens;
    }

    /** Joins permits that were acquired one after another, in this order. */
    static MultiPermitHandle of(List<PermitHandle> permits) {
        SortedMap<Integer, Long> tokens = new TreeMap<>();
        permits.forEach(permit -> tokens.put(permit.slot(), permit.fencingToken()));
        return new MultiPermitHandle(
                permits.stream().map(permit -> permit.lease).toList(), tokens);
    }

    /** The permits of one grant: each slot has the next token. */
    static MultiPermitHandle of(LeaseHandle lease, List<Integer> slots) {
        SortedMap<Integer, Long> tokens = new TreeMap<>();
        lease.state().standsFor(slots.size());
        slots.forEach(slot -> tokens.put(slot, lease.fencingToken() + tokens.size()));
        return new MultiPermitHandle(List.of(lease), tokens);
    }

    @Override
    public LockName lockName() {
        return parts.get(0).lockName();
    }

    @Override
    public List<Integer> slots() {
        return List.copyOf(tokens.keySet());
    }

    @Override
    public long fencingToken(int slot) {
        Long token = tokens.get(slot);
        if (token == null) {
            throw new IllegalArgumentException(
                    "slot " + slot + " of permits \"" + lockName() + "\" is not one of " + slots());
        }
        return token;
    }

    @Override
    public String toString() {
        return "MultiPermit[slots " + slots() + ", " + parts + "]";
    }
}
