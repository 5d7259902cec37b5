package io.leasehold.testkit.tck;

import io.leasehold.LockName;
import java.util.List;

/** A shared store to which the faults of {@link FaultsTck} can be done. */
public interface FaultyFixture extends StoreFixture {

    /** A new front before the shared store; the TCK closes it. */
    StoreFront front();

    /**
     * The state of this lock in the store itself, read by other means than a client: keys, rows, nodes. Left out is what stays
     * by design without a holder or waiter (a fence), and all values that change by themselves.
     */
    List<String> kept(LockName name);
}
