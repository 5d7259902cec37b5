/** From samples to tables: medians, ratios, targets, and where we lose. */
@NullMarked
package io.leasehold.benchmarks.report;

import org.jspecify.annotations.NullMarked;
