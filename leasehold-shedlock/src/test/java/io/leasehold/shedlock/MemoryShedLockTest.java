package io.leasehold.shedlock;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import org.junit.jupiter.api.Tag;

@Tag("full")
class MemoryShedLockTest extends LongTtlShedLockTest {

    @Override
    LockClient connect() {
        return Leasehold.connect("memory:");
    }
}
