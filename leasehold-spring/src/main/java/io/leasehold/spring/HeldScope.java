package io.leasehold.spring;

import io.leasehold.spi.method.LeaseScope;

/**
 * A body whose lease a transaction keeps, with the hold to release.
 *
 * @param scope the body
 * @param held its hold
 */
record HeldScope(LeaseScope scope, SubscriptionHold held) {}
