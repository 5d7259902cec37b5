/** Runs the simulators over many seeds. */
@NullMarked
package io.leasehold.verify.simulate;

import org.jspecify.annotations.NullMarked;
