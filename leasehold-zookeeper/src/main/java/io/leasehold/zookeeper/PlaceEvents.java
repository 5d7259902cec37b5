package io.leasehold.zookeeper;

import io.leasehold.LossCause;
import io.leasehold.spi.OwnerToken;

/** Receives the events of places in queues. */
interface PlaceEvents {

    /** Another request may now succeed. */
    void woken(QueueEntry place);

    /** The node was removed while the place held. */
    void taken(QueueEntry place, LossCause cause);

    /** The place has another owner token from now on: that of a reader. */
    void downgraded(QueueEntry place, OwnerToken former);

    /** Nothing of the place is left at the ensemble. */
    void over(QueueEntry place);
}
