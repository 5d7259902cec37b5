/** The cost of listing many locks for concurrent acquires. */
@NullMarked
package io.leasehold.verify.listing;

import org.jspecify.annotations.NullMarked;
