/** The stores whose locks are queues, etcd and ZooKeeper, over models of their servers in a virtual world. */
@NullMarked
package io.leasehold.verify.queue;

import org.jspecify.annotations.NullMarked;
