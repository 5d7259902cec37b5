package io.leasehold.shedlock;

import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/**
 * The same tests with leases that are not renewed, at stores whose ttl may be as long as the {@code lockAtMostFor} of
 * these tests.
 */
@Tag("full")
abstract class LongTtlShedLockTest extends StoreShedLockTest {

    @Nested
    class Unrenewed extends Suite {
        @Override
        public ExtensibleLockProvider getLockProvider() {
            return LeaseholdLockProvider.over(client()).unrenewed();
        }
    }
}
