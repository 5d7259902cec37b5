/**
 * The meaning of a row of the lease table, and how each verb changes it. Pure: no clock, no SQL, no threads.
 */
@NullMarked
package io.leasehold.jdbc.lease;

import org.jspecify.annotations.NullMarked;
