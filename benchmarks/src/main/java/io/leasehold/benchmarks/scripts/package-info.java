/** The cost of scripts at the server, by their form. */
@NullMarked
package io.leasehold.benchmarks.scripts;

import org.jspecify.annotations.NullMarked;
