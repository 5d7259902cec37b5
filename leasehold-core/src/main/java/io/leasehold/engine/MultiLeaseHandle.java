package io.leasehold.engine;

import io.leasehold.LockName;
import io.leasehold.MultiLease;
import java.util.List;

/** Leases of several locks as one. */
final class MultiLeaseHandle extends JoinedLeases implements MultiLease {

    /** Takes the parts in the order in which they were acquired, which is the order of their names. */
    MultiLeaseHandle(List<LeaseHandle> parts) {
        super(parts);
    }

    @Override
    public List<LockName> lockNames() {
        return parts.stream().map(LeaseHandle::lockName).toList();
    }

    @Override
    public long fencingToken(LockName name) {
        for (LeaseHandle part : parts) {
            if (part.lockName().equals(name)) {
                return part.fencingToken();
            }
        }
        throw new IllegalArgumentException("lock \"" + name + "\" is not one of " + lockNames());
    }

    @Override
    public String toString() {
        return "MultiLease" + parts;
    }
}
