package io.leasehold.testkit.tck;

import org.junit.jupiter.api.extension.ExtendWith;

/** The store under test; implemented by each test class that takes part in the TCK. */
@ExtendWith(TckExtension.class)
public interface SharesStore {

    /** The store under test; the same one at each call. */
    StoreFixture fixture();
}
