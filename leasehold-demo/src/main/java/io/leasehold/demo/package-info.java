/** The demonstration: real processes that compete for one lock at a real server, and a verdict on their records. */
@NullMarked
package io.leasehold.demo;

import org.jspecify.annotations.NullMarked;
