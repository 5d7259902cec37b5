package io.leasehold.etcd;

import io.etcd.jetcd.ByteSequence;
import io.leasehold.spi.toolkit.EntryData;
import io.leasehold.spi.toolkit.QueuePlace;

/** The key of one attempt at the cluster. Safe for use by any thread. */
final class AttemptKey {

    private final ByteSequence key;
    private final ByteSequence queue;
    private final KeyLease lease;
    private final QueuePlace<Long> place;
    private volatile EntryData data;

    /**
     * Creates the record of a key that need not exist yet.
     *
     * @param key its key
     * @param queue the prefix of the keys of its queue
     * @param data its value: the kind of the attempt and the holder
     * @param lease keeps the key
     * @param place its place in the queue; the entry is the create revision of the key
     */
    AttemptKey(ByteSequence key, ByteSequence queue, EntryData data, KeyLease lease, QueuePlace<Long> place) {
        this.key = key;
        this.queue = queue;
        this.data = data;
        this.lease = lease;
        this.place = place;
    }

    ByteSequence key() {
        return key;
    }

    ByteSequence queue() {
        return queue;
    }

    KeyLease lease() {
        return lease;
    }

    QueuePlace<Long> place() {
        return place;
    }

    EntryData data() {
        return data;
    }

    ByteSequence value() {
        return ByteSequence.from(data.bytes());
    }

    /** Notes that the key has this value from now on. */
    void become(EntryData next) {
        data = next;
    }
}
