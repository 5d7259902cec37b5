/** The method of measurement: windows of load, and their use of server and process. */
@NullMarked
package io.leasehold.benchmarks.measure;

import org.jspecify.annotations.NullMarked;
