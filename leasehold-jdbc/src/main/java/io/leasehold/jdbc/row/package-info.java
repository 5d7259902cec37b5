/** Rows of the caller's own tables, inside the caller's own transactions: what row locks, fencing and version checks share. */
@NullMarked
package io.leasehold.jdbc.row;

import org.jspecify.annotations.NullMarked;
