package io.leasehold.testkit.tck;

import io.leasehold.LockName;
import java.util.List;

/** A shared store into which {@link FaultsTck} can inject faults. */
public interface FaultyFixture extends StoreFixture {

    /** Creates a new front before the shared store; the TCK closes it. */
    StoreFront front();

    /**
     * The state of this lock in the store itself, read without a client: keys, rows, nodes. It omits data that stays by
     * design without a holder or waiter (a fence), and all values that change on their own.
     */
    List<String> kept(LockName name);
}
