/** The lease table as a {@link io.leasehold.spi.LockStore}: connections, transactions, the worker, and waking. */
@NullMarked
package io.leasehold.jdbc.store;

import org.jspecify.annotations.NullMarked;
