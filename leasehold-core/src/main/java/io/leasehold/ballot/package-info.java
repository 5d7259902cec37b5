/** Fencing tokens as ballots, and one node lifted into a store. */
@NullMarked
package io.leasehold.ballot;

import org.jspecify.annotations.NullMarked;
