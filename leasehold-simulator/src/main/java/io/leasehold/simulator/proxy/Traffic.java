package io.leasehold.simulator.proxy;

/**
 * The counts of the bytes in one direction so far, over all connections: the proof that a fault took place.
 *
 * @param passed the bytes written to the receiver
 * @param delayed the bytes that waited because of a delay
 * @param stalled the bytes that a stall held back, whether or not they were delivered later
 * @param dropped the bytes that were swallowed
 * @param dribbled the bytes that were delivered at a limited rate
 */
public record Traffic(long passed, long delayed, long stalled, long dropped, long dribbled) {}
