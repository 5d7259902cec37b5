package io.leasehold.testkit.tck;

/**
 * What a child JVM holds.
 *
 * @param askedAtNanos the machine's monotonic clock before it asked
 * @param fencingToken its token
 */
record ChildHold(long askedAtNanos, long fencingToken) {}
