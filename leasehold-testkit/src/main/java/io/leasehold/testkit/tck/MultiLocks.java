package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.LockName;

/** What tests of several locks look at. */
final class MultiLocks {

    private MultiLocks() {}

    /** Nobody holds or comes to hold any of them, long before any ttl has passed; then somebody can. */
    static void areFree(TckBench bench, LockName... names) {
        LockClient observer = bench.client();
        for (LockName name : names) {
            TckBench.until(
                    "\"" + name + "\" is free",
                    () -> observer.admin().inspect(name).isEmpty());
            try (Lease lease = observer.named(name).tryAcquire(TckBench.PATIENCE)) {
                assertNotNull(lease, "somebody holds the lock that was given up");
            } catch (InterruptedException e) {
                throw new AssertionError("interrupted", e);
            }
        }
    }
}
