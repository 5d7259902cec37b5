package io.leasehold.testkit.tck;

/**
 * The hold of a child JVM.
 *
 * @param askedAtNanos the machine's monotonic clock before it asked
 * @param fencingToken its token
 */
record ChildHold(long askedAtNanos, long fencingToken) {}
