/**
 * Locks in Apache ZooKeeper: ephemeral sequential nodes, one queue for each lock.
 *
 * <p>{@code Leasehold.connect("zk://h1,h2,h3/locks")} connects to an ensemble. Waiters are served in the order of their
 * arrival. Each waiter watches the node before its own, and none polls. The fencing token derives from the zxid of the
 * lock's node, so it rises with the ensemble's own order. A lease ends with the session. Its validity counts from
 * exchanges that a majority has confirmed. {@code docs/stores/zookeeper.md} lists the required rights and the behavior
 * in each failure.
 */
@NullMarked
package io.leasehold.zookeeper;

import org.jspecify.annotations.NullMarked;
