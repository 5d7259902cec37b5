package io.leasehold.simulator.proxy;

/**
 * The counts of the bytes of one direction so far, over all connections; proof that a fault took place.
 *
 * @param passed bytes written to the receiver
 * @param delayed bytes that were made to wait by a delay
 * @param stalled bytes that were held back by a stall, whether or not they were delivered later
 * @param dropped bytes that were swallowed
 * @param dribbled bytes that were delivered at a limited rate
 */
public record Traffic(long passed, long delayed, long stalled, long dropped, long dribbled) {}
