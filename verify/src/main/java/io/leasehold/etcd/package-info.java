/** A model of etcd for the simulator, below the seam of the store. */
@NullMarked
package io.leasehold.etcd;

import org.jspecify.annotations.NullMarked;
