package io.leasehold.zookeeper;

import io.leasehold.LossCause;

/** Hears of the places in queues. */
interface PlaceEvents {

    /** Asking again may be worth it. */
    void woken(QueueEntry place);

    /** The node was taken away while it held. */
    void taken(QueueEntry place, LossCause cause);

    /** Nothing of it is left at the ensemble. */
    void over(QueueEntry place);
}
