package io.leasehold.redis.topology;

import java.util.List;

/**
 * The answer of a script, and the number of replicas that have its writes.
 *
 * @param reply the answer of the script
 * @param replicas the number of replicas that acknowledged in time
 */
public record Acknowledged(List<Object> reply, long replicas) {}
