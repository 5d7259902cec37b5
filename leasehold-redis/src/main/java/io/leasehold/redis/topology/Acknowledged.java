package io.leasehold.redis.topology;

import java.util.List;

/**
 * The answer of a script, and how many replicas have what it wrote.
 *
 * @param reply of the script
 * @param replicas that said so in time
 */
public record Acknowledged(List<Object> reply, long replicas) {}
