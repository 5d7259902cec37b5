package io.leasehold.redis;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;

/** A process that waits for a lock, prints its token, and ends with its standard input. */
public final class WaiterMain {

    private WaiterMain() {}

    /** Arguments: store URI, lock name. */
    @SuppressWarnings("SystemOut")
    public static void main(String[] args) throws Exception {
        try (LockClient client = Leasehold.connect(args[0]);
                Lease lease = client.named(args[1]).acquire()) {
            System.out.println("HELD " + lease.fencingToken());
            while (System.in.read() >= 0) {
                // The input contains nothing but its end.
            }
        }
    }
}
