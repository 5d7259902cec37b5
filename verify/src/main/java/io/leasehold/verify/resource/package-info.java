/** The resource that locks protect: a process with counters, some of which check fencing tokens. */
@NullMarked
package io.leasehold.verify.resource;

import org.jspecify.annotations.NullMarked;
