/** What is done to every peer, in adjacent windows. */
@NullMarked
package io.leasehold.benchmarks.workload;

import org.jspecify.annotations.NullMarked;
