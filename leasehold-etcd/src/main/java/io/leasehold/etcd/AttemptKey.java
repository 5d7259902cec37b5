package io.leasehold.etcd;

import io.etcd.jetcd.ByteSequence;
import io.leasehold.spi.toolkit.QueuePlace;

/**
 * The key of one attempt at the cluster.
 *
 * @param key its key
 * @param queue the prefix of the keys of its queue
 * @param value the value of its key: the holder
 * @param lease keeps the key
 * @param place its place in the queue; the entry is the create revision of the key
 */
record AttemptKey(ByteSequence key, ByteSequence queue, ByteSequence value, KeyLease lease, QueuePlace<Long> place) {}
