/**
 * Locks in etcd: a key for each holder or waiter, kept by a lease of etcd, in the order of their creation.
 *
 * <p>{@code Leasehold.connect("etcd://h1,h2,h3/locks")} is all there is to write. The key with the smallest creation revision
 * holds the lock; the others watch the one before them, and nothing polls. The fencing token comes from that revision. Each
 * change is a transaction on condition that the key is still there, so that what comes late changes nothing. {@code
 * docs/stores/etcd.md} has the rights it needs and what happens in which failure.
 */
@NullMarked
package io.leasehold.etcd;

import org.jspecify.annotations.NullMarked;
