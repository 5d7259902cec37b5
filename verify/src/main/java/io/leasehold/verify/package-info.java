/** Real processes, real servers and real faults: the command that brings them together. */
@NullMarked
package io.leasehold.verify;

import org.jspecify.annotations.NullMarked;
