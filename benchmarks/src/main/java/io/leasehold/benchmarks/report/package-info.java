/** From samples to tables: medians, ratios, targets, and the figures in which Leasehold is worse. */
@NullMarked
package io.leasehold.benchmarks.report;

import org.jspecify.annotations.NullMarked;
