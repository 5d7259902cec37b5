/** What is measured: Leasehold, the raw reference, and the locks that people use today, behind one small interface. */
@NullMarked
package io.leasehold.benchmarks.peer;

import org.jspecify.annotations.NullMarked;
