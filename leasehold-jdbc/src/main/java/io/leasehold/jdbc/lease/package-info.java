/**
 * What a row of the lease table means, and what each verb makes of it. Pure: no clock, no SQL, no threads.
 */
@NullMarked
package io.leasehold.jdbc.lease;

import org.jspecify.annotations.NullMarked;
