/** The measured locks: Leasehold, the raw reference, and the locks in use today, behind one small interface. */
@NullMarked
package io.leasehold.benchmarks.peer;

import org.jspecify.annotations.NullMarked;
