package io.leasehold.jdbc.lease;

/**
 * One reading of the clock by which a lease table lives.
 *
 * @param origin the zero of the nanoseconds: two values can be compared only if their origins are equal
 * @param nanos the time on that clock
 * @param wallMicros the wall clock in microseconds since 1970, for fencing tokens
 * @param readAtNanos this process's {@code LockRuntime.nanoTime()} not after the reading
 */
public record StoreTime(String origin, long nanos, long wallMicros, long readAtNanos) {}
