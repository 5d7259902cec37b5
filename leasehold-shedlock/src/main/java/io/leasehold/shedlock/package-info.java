/** ShedLock over Leasehold: {@link io.leasehold.shedlock.LeaseholdLockProvider} takes the place of another {@code LockProvider}. */
@NullMarked
package io.leasehold.shedlock;

import org.jspecify.annotations.NullMarked;
