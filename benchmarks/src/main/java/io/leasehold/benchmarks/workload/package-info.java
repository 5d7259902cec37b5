/** The workloads that every peer runs, in adjacent windows. */
@NullMarked
package io.leasehold.benchmarks.workload;

import org.jspecify.annotations.NullMarked;
