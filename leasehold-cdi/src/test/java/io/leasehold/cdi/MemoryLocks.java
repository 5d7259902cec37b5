package io.leasehold.cdi;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.inject.Disposes;
import jakarta.enterprise.inject.Produces;

/** Locks in the memory of this process. */
@ApplicationScoped
class MemoryLocks {

    @Produces
    @ApplicationScoped
    LockClient locks() {
        return Leasehold.connect("memory:");
    }

    void close(@Disposes LockClient locks) {
        locks.close();
    }
}
