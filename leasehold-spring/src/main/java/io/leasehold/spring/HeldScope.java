package io.leasehold.spring;

import io.leasehold.spi.method.LeaseScope;

/**
 * A body that a transaction keeps the lease of, and what gives that back.
 *
 * @param scope the body
 * @param held what it was granted
 */
record HeldScope(LeaseScope scope, SubscriptionHold held) {}
