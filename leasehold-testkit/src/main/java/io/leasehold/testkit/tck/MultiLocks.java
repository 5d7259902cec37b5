package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.LockName;

/** Checks for tests of several locks. */
final class MultiLocks {

    private MultiLocks() {}

    /** All of them are free and can be acquired, long before any ttl has passed. */
    static void areFree(TckBench bench, LockName... names) {
        LockClient observer = bench.client();
        for (LockName name : names) {
            TckBench.until(
                    "\"" + name + "\" is free",
                    () -> observer.admin().inspect(name).isEmpty());
            try (Lease lease = observer.named(name).tryAcquire(TckBench.PATIENCE)) {
                assertNotNull(lease, "the lock that was given up is held");
            } catch (InterruptedException e) {
                throw new AssertionError("interrupted", e);
            }
        }
    }
}
