/** Locks in etcd: a key for each holder or waiter, kept by a lease of etcd, in the order of their creation. */
@NullMarked
package io.leasehold.etcd;

import org.jspecify.annotations.NullMarked;
