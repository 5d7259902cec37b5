package io.leasehold.spring;

/**
 * A body that a transaction keeps the lease of, and what gives that back.
 *
 * @param scope the body
 * @param held what it was granted
 */
record HeldScope(LeaseScope scope, SubscriptionHold held) {}
