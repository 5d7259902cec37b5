package io.leasehold.simulator.history;

import io.leasehold.Lease;
import io.leasehold.Permit;

/**
 * The names under which histories record leases. Leases of one name exclude each other, except those of readers, which
 * share the lock and exclude its writer.
 */
public final class LeaseText {

    private static final String READ = " (read)";

    private LeaseText() {}

    /** The name of a lease: that of its lock, of the readers of its lock, or of its slot of permits. */
    public static String of(Lease lease) {
        String lock = lease.lockName().text();
        if (lease instanceof Permit permit) {
            return slot(lock, permit.slot());
        }
        return lease.lockName().isRead() ? read(lock) : lock;
    }

    /** The name of the readers of a lock. */
    public static String read(String lock) {
        return lock + READ;
    }

    /** The name of a slot of permits. */
    public static String slot(String permits, int slot) {
        return permits + "#" + slot;
    }

    /** Whether this is the name of readers. */
    static boolean isRead(String name) {
        return name.endsWith(READ);
    }
}
