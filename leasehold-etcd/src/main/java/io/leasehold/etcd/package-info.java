/**
 * Locks in etcd: a key for each holder or waiter, kept by a lease of etcd, in the order of their creation.
 *
 * <p>{@code Leasehold.connect("etcd://h1,h2,h3/locks")} connects to a cluster. The key with the smallest creation
 * revision holds the lock. Each other key waits, its client watches the key before it, and none polls. The fencing
 * token derives from that revision. Each change is a transaction that requires that the key still exists, so a late
 * request changes nothing. {@code docs/stores/etcd.md} lists the required rights and the behavior in each failure.
 */
@NullMarked
package io.leasehold.etcd;

import org.jspecify.annotations.NullMarked;
