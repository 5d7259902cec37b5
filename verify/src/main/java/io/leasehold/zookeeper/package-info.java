/** A model of ZooKeeper for the simulator, below the seam of the store. */
@NullMarked
package io.leasehold.zookeeper;

import org.jspecify.annotations.NullMarked;
