/** A node in this process's memory: a store for one process, and the reference for all others. */
@NullMarked
package io.leasehold.memory;

import org.jspecify.annotations.NullMarked;
