package io.leasehold.verify.queue;

import io.leasehold.spi.LockStore;
import java.util.List;
import java.util.OptionalLong;

/** A model of a cluster whose locks are queues of entries; one thread at a time. */
public interface QueueModel {

    /** The real store of one client over this model. */
    LockStore open(QueueWire wire);

    /**
     * The end, in the world's time, of an entry whose client falls silent.
     *
     * @return empty if no entry with this token holds
     */
    OptionalLong keptUntilNanos(String lock, long token);

    /** Makes another member the leader. */
    void newLeader();

    /** Ends the event streams of this client, or of all clients if it is null. */
    void breakWatches(QueueWire wire);

    /** Removes the first entry of a queue by force. */
    void forceRelease(String lock);

    /** The existing entries. */
    List<String> entries();
}
