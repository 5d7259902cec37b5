/** A model of etcd for the simulator, below the seam of the store. */
@org.jspecify.annotations.NullMarked
package io.leasehold.etcd;
