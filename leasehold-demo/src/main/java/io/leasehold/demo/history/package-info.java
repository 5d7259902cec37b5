/** The records of processes that compete for a lock, and the verdict from these records alone. */
@NullMarked
package io.leasehold.demo.history;

import org.jspecify.annotations.NullMarked;
