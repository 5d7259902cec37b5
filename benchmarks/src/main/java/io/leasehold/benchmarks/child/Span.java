package io.leasehold.benchmarks.child;

/**
 * One hold, in moments of the monotonic clock that all processes of a machine share.
 *
 * @param requestedAtNanos just before acquire was called
 * @param acquiredAtNanos just after it returned
 * @param releasingAtNanos just before release was called
 */
public record Span(long requestedAtNanos, long acquiredAtNanos, long releasingAtNanos) {}
