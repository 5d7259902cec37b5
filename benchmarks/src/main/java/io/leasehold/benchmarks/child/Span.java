package io.leasehold.benchmarks.child;

/**
 * One hold, in times of the monotonic clock that all processes of a machine share.
 *
 * @param requestedAtNanos the time just before acquire was called
 * @param acquiredAtNanos the time just after it returned
 * @param releasingAtNanos the time just before release was called
 */
public record Span(long requestedAtNanos, long acquiredAtNanos, long releasingAtNanos) {}
