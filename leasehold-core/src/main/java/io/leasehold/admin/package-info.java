/**
 * Administration: {@link io.leasehold.admin.LockAdmin} and its results. An application that only acquires locks does not need it.
 */
@NullMarked
package io.leasehold.admin;

import org.jspecify.annotations.NullMarked;
