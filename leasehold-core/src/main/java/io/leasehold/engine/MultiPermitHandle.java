package io.leasehold.engine;

import io.leasehold.LockName;
import io.leasehold.MultiPermit;
import java.util.Comparator;
import java.util.List;

/** Several permits of a name as one hold. */
final class MultiPermitHandle extends JoinedLeases implements MultiPermit {

    private final List<PermitHandle> permits;

    /** Takes the permits in the order in which they were acquired. */
    MultiPermitHandle(List<PermitHandle> permits) {
        super(permits.stream().map(permit -> permit.lease).toList());
        this.permits = permits.stream()
                .sorted(Comparator.comparingInt(PermitHandle::slot))
                .toList();
    }

    @Override
    public LockName lockName() {
        return permits.get(0).lockName();
    }

    @Override
    public List<Integer> slots() {
        return permits.stream().map(PermitHandle::slot).toList();
    }

    @Override
    public long fencingToken(int slot) {
        for (PermitHandle permit : permits) {
            if (permit.slot() == slot) {
                return permit.fencingToken();
            }
        }
        throw new IllegalArgumentException(
                "slot " + slot + " of permits \"" + lockName() + "\" is not one of " + slots());
    }

    @Override
    public String toString() {
        return "MultiPermit" + permits;
    }
}
