package io.leasehold.testkit.tck;

import org.junit.jupiter.api.extension.ExtendWith;

/** Whoever implements one of the TCK's interfaces says which store is to be tested. */
@ExtendWith(TckExtension.class)
public interface SharesStore {

    /** The store under test; the same one at each call. */
    StoreFixture fixture();
}
