package io.leasehold.benchmarks.child;

/**
 * What a client adds to its process.
 *
 * @param threads live threads
 * @param directBytes memory outside of the heap
 */
public record ClientCost(double threads, double directBytes) {}
