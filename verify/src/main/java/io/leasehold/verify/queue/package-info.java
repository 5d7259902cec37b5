/** The stores whose locks are queues, etcd and ZooKeeper, over models of their servers in a virtual world. */
@org.jspecify.annotations.NullMarked
package io.leasehold.verify.queue;
