/** The command {@code benchmarks/run}. */
@NullMarked
package io.leasehold.benchmarks;

import org.jspecify.annotations.NullMarked;
