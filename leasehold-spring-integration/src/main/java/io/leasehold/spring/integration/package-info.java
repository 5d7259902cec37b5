/**
 * Spring Integration over Leasehold: {@link io.leasehold.spring.integration.LeaseholdLockRegistry} replaces another
 * {@code LockRegistry}.
 */
@NullMarked
package io.leasehold.spring.integration;

import org.jspecify.annotations.NullMarked;
