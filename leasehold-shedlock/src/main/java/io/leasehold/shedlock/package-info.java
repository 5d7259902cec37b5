/**
 * ShedLock over Leasehold: {@link io.leasehold.shedlock.LeaseholdLockProvider} replaces another {@code LockProvider}.
 */
@NullMarked
package io.leasehold.shedlock;

import org.jspecify.annotations.NullMarked;
