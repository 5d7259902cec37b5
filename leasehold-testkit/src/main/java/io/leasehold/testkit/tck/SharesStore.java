package io.leasehold.testkit.tck;

import org.junit.jupiter.api.extension.ExtendWith;

/** Supplies the store under test; each test class that takes part in the TCK implements it. */
@ExtendWith(TckExtension.class)
public interface SharesStore {

    /** Returns the store under test; the same one at each call. */
    StoreFixture fixture();
}
