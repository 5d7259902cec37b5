package io.leasehold.cli.command;

import io.leasehold.admin.LockAdmin;
import io.leasehold.admin.LockAdmin.HeldLock;
import java.util.List;

/**
 * The held locks by name, up to a limit.
 *
 * @param held the first of them
 * @param isCut whether there are more
 */
record Listing(List<HeldLock> held, boolean isCut) {

    static Listing of(LockAdmin admin, String glob, int limit) {
        List<HeldLock> found = admin.list(glob, limit == Integer.MAX_VALUE ? limit : limit + 1);
        return found.size() > limit
                ? new Listing(List.copyOf(found.subList(0, limit)), true)
                : new Listing(found, false);
    }

    /** Whether a lock with this name would be in the list if it were held. */
    boolean covers(String name) {
        return !isCut || name.compareTo(held.get(held.size() - 1).name().text()) <= 0;
    }

    String remark() {
        return "more than " + held.size() + ": raise --limit to see the rest";
    }
}
