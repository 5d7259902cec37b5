package io.leasehold.verify.queue;

import io.leasehold.spi.LockStore;
import java.util.List;
import java.util.OptionalLong;

/** A model of a cluster whose locks are queues of entries; one thread at a time. */
public interface QueueModel {

    /** The real store of one client over this model. */
    LockStore open(QueueWire wire);

    /**
     * Until when, in the world's time, an entry stays even if nothing more is heard of its client.
     *
     * @return empty if no entry with this token is the first of its queue
     */
    OptionalLong keptUntilNanos(String lock, long token);

    /** Another member leads from now on. */
    void newLeader();

    /** Ends what tells events of this client, or of all if it is null. */
    void breakWatches(QueueWire wire);

    /** Removes the first entry of a queue by hand. */
    void forceRelease(String lock);

    /** The entries that are there. */
    List<String> entries();
}
