package io.leasehold.engine;

import io.leasehold.Permit;

/** The caller's reference to a permit: a lease with the number of its slot. */
final class PermitHandle extends PassingLease implements Permit {

    private final int slot;

    PermitHandle(LeaseHandle lease, int slot) {
        super(lease);
        this.slot = slot;
    }

    @Override
    public int slot() {
        return slot;
    }

    @Override
    public String toString() {
        return "Permit[slot " + slot + ", " + lease + "]";
    }
}
