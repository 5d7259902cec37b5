/**
 * Locks in Apache ZooKeeper: ephemeral sequential nodes, one queue for each lock.
 *
 * <p>{@code Leasehold.connect("zk://h1,h2,h3/locks")} is all there is to write. Waiters are served in the order in which they
 * came, each watches the one before it, and nothing polls. The fencing token comes from the zxid of the lock's node, so that
 * it rises with the ensemble's own order. A lease ends with the session; its validity is counted from exchanges that a majority
 * has confirmed. {@code docs/stores/zookeeper.md} has the rights it needs and what happens in which failure.
 */
@NullMarked
package io.leasehold.zookeeper;

import org.jspecify.annotations.NullMarked;
