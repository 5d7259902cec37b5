/** Spring Integration over Leasehold: {@link io.leasehold.spring.integration.LeaseholdLockRegistry} takes the place of another {@code LockRegistry}. */
@NullMarked
package io.leasehold.spring.integration;

import org.jspecify.annotations.NullMarked;
