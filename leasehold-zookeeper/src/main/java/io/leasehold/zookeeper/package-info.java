/** Locks in Apache ZooKeeper: ephemeral sequential nodes, one queue for each lock. */
@NullMarked
package io.leasehold.zookeeper;

import org.jspecify.annotations.NullMarked;
