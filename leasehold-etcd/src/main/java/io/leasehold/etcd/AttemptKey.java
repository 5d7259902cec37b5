package io.leasehold.etcd;

import io.etcd.jetcd.ByteSequence;
import io.leasehold.spi.toolkit.QueuePlace;

/**
 * What one attempt has at the cluster.
 *
 * @param key its key
 * @param queue what the keys of its queue begin with
 * @param value what its key says of the holder
 * @param lease keeps the key
 * @param place its place in the queue; the entry is the create revision of the key
 */
record AttemptKey(ByteSequence key, ByteSequence queue, ByteSequence value, KeyLease lease, QueuePlace<Long> place) {}
