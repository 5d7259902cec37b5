/** Real processes, real servers and real faults: the command that combines them. */
@NullMarked
package io.leasehold.verify;

import org.jspecify.annotations.NullMarked;
