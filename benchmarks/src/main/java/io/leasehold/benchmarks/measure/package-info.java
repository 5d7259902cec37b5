/** How it is measured: windows of load, and what server and process used in them. */
@NullMarked
package io.leasehold.benchmarks.measure;

import org.jspecify.annotations.NullMarked;
